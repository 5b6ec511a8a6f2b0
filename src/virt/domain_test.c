/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/domain.h"

#include "base/err.h"
#include "base/test.h"
#include "virt/conn.h"

/* libvirt's own driver for tests: a domain "test" that runs, without a daemon.
 */
#define URI "test:///default"
#define DOMAIN "test"

static void
expect(struct virt_conn *conn, enum virt_state state, enum virt_why why)
{
	struct virt_look look;
	struct err err = { .text = "" };

	assert_int_equal(virt_domain_look(conn, DOMAIN, &look, &err), 0);
	assert_string_equal(virt_state_name(look.state),
			    virt_state_name(state));
	assert_string_equal(virt_why_name(look.why), virt_why_name(why));
}

/* By which a migration can be told from the one before it. */
static void
test_a_guest_that_was_stopped_has_another_reason_to_run(void **state)
{
	struct virt_conn *conn = NULL;
	struct err err = { .text = "" };

	(void)state;
	assert_int_equal(virt_conn_open(URI, &conn, &err), 0);
	expect(conn, VIRT_RUNNING, VIRT_WHY_UNKNOWN);
	assert_int_equal(virt_domain_pause(conn, DOMAIN, &err), 0);
	expect(conn, VIRT_PAUSED, VIRT_WHY_USER);
	assert_int_equal(virt_domain_resume(conn, DOMAIN, &err), 0);
	expect(conn, VIRT_RUNNING, VIRT_WHY_USER);
	virt_conn_close(conn);
}

static void
test_a_domain_that_is_not_there_is_absent(void **state)
{
	struct virt_conn *conn = NULL;
	struct virt_look look;
	struct err err = { .text = "" };

	(void)state;
	assert_int_equal(virt_conn_open(URI, &conn, &err), 0);
	assert_int_equal(virt_domain_look(conn, "nobody", &look, &err), 0);
	assert_int_equal(look.state, VIRT_ABSENT);
	assert_int_equal(look.id, -1);
	assert_int_equal(virt_domain_pause(conn, "nobody", &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	virt_conn_close(conn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_guest_that_was_stopped_has_another_reason_to_run),
		cmocka_unit_test(test_a_domain_that_is_not_there_is_absent),
	};

	virt_init();
	return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
