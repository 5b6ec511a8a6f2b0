/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void
test_ports_and_channels_are_the_same_thing(void **state)
{
	static const uint16_t ports[CHANNEL_COUNT] = { 0, 49152, 49153 };
	enum channel channel;
	struct err err;

	(void)state;
	for (enum channel c = 0; c < CHANNEL_COUNT; c++) {
		assert_int_equal(channel_port(c), ports[c]);
		assert_int_equal(channel_from_port(ports[c], &channel, &err),
				 0);
		assert_int_equal(channel, c);
	}
	assert_string_equal(channel_name(CHANNEL_CONTROL), "control");
	assert_string_equal(channel_name(CHANNEL_DIRECT), "direct");
	assert_string_equal(channel_name(CHANNEL_BLOCK), "block");
}

static void
test_other_ports_are_no_channels(void **state)
{
	enum channel channel = CHANNEL_COUNT;
	struct err err;

	(void)state;
	assert_int_equal(channel_from_port(1, &channel, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(channel_from_port(49154, &channel, &err), -1);
	/* 49152 if it were cut to 16 bits. */
	assert_int_equal(channel_from_port(65536 + 49152, &channel, &err), -1);
	assert_int_equal(channel_from_port(UINT64_MAX, &channel, &err), -1);
	assert_int_equal(channel, CHANNEL_COUNT);
}

static void
test_disks_add_the_block_channel(void **state)
{
	enum channel list[CHANNEL_COUNT];

	(void)state;
	assert_int_equal(channel_list(false, list), 2);
	assert_int_equal(list[0], CHANNEL_CONTROL);
	assert_int_equal(list[1], CHANNEL_DIRECT);
	assert_int_equal(channel_list(true, list), 3);
	assert_int_equal(list[2], CHANNEL_BLOCK);
}

static void
test_socket_names_follow_from_the_key(void **state)
{
	char name[CHANNEL_NAME_SIZE];

	(void)state;
	channel_socket_name("vm1", CHANNEL_CONTROL, name);
	assert_string_equal(name, "vm1-source.sock");
	channel_socket_name("vm1", CHANNEL_DIRECT, name);
	assert_string_equal(name, "vm1-49152-source.sock");
	channel_socket_name("vm1", CHANNEL_BLOCK, name);
	assert_string_equal(name, "vm1-49153-source.sock");
}

static void
test_keys_that_are_no_names_are_refused(void **state)
{
	char key[CHANNEL_KEY_MAX + 2], name[CHANNEL_NAME_SIZE];
	struct err err;

	(void)state;
	assert_int_equal(channel_check_key("", &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(channel_check_key("../x", &err), -1);
	assert_int_equal(channel_check_key("a/b", &err), -1);
	assert_int_equal(channel_check_key(".hidden", &err), -1);
	assert_int_equal(channel_check_key("a b", &err), -1);
	assert_int_equal(
		channel_check_key("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4b", &err),
		0);

	memset(key, 'k', sizeof(key));
	key[CHANNEL_KEY_MAX + 1] = '\0';
	assert_int_equal(channel_check_key(key, &err), -1);
	key[CHANNEL_KEY_MAX] = '\0';
	assert_int_equal(channel_check_key(key, &err), 0);
	channel_socket_name(key, CHANNEL_BLOCK, name);
	assert_int_equal(strlen(name),
			 CHANNEL_KEY_MAX + strlen("-49153-source.sock"));
}

static void
test_paths_must_fit_a_unix_address(void **state)
{
	/* 107 characters: the directory, a slash, "k-49152-source.sock". */
	char dir[107 - 20 + 2];
	struct err err;

	(void)state;
	memset(dir, 'd', sizeof(dir));
	dir[0] = '/';
	dir[107 - 20] = '\0';
	assert_int_equal(channel_check_paths(dir, "k", &err), 0);

	dir[107 - 20] = 'd';
	dir[107 - 20 + 1] = '\0';
	assert_int_equal(channel_check_paths(dir, "k", &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "107"));
	assert_non_null(strstr(err.text, "108"));
	assert_int_equal(channel_check_paths("/run", "../k", &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_and_channels_are_the_same_thing),
		cmocka_unit_test(test_other_ports_are_no_channels),
		cmocka_unit_test(test_disks_add_the_block_channel),
		cmocka_unit_test(test_socket_names_follow_from_the_key),
		cmocka_unit_test(test_keys_that_are_no_names_are_refused),
		cmocka_unit_test(test_paths_must_fit_a_unix_address),
	};

	return cmocka_run_group_tests_name("proxy/channel", tests, NULL, NULL);
}
