/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/complete.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/test.h"

#define WORDS_MAX 16

static struct kube_flags flags;
static bool wait_for_it;

static int
run_move(int argc, char **argv)
{
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&flags),
		{ "wait", NULL, "until it is over", OPT_FLAG, &wait_for_it, 0,
		  0 },
		{ "output", "json", "as JSON", OPT_STR, &flags.token, 0, 0 },
		{ "dir", "DIR", "there", OPT_STR, &flags.token, 0, 0 },
	};
	const struct opts opts = {
		.program = "prog move",
		.args = "VM",
		.summary = "Moves.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	int first, status;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	fail_msg("a command was run");
	return 1;
}

static int
run_tell(int argc, char **argv)
{
	const struct opts opts = {
		.program = "prog tell",
		.args = "[vm|vmim] NAME",
		.summary = "Tells.",
		.args_min = 1,
		.args_max = 2,
	};
	int first, status;

	return command_parse(&opts, argc, argv, &first, &status) ? 1 : status;
}

static const struct command commands[] = {
	{ "move", run_move, "moves it" },
	{ "tell", run_tell, "tells it" },
	{ "__hidden", run_tell, NULL },
};

static const struct opt leading[] = { KUBE_FLAGS_OPTS(&flags) };

static const struct program program = {
	.name = "prog",
	.commands = commands,
	.count = ARRAY_LEN(commands),
	.leading = leading,
	.leading_count = ARRAY_LEN(leading),
};

/* Two of each, with the kind and the namespace in their names. */
static void
names(const char *what, const struct kube_flags *given, json_t *found,
      void *arg)
{
	const char *ns = given->ns != NULL ? given->ns : "default";

	(void)arg;
	for (int i = 1; i <= 2; i++)
		json_array_append_new(
			found, json_pack("[o, s]",
					 json_sprintf("%s-%s-%d", what, ns, i),
					 i == 1 ? "about" : ""));
}

/* Of words that are apart by one blank; to be freed. */
static char *
complete(const char *line)
{
	AUTO(free_ptr) char *copy = xstrdup(line);
	char *words[WORDS_MAX + 1] = { NULL };
	struct complete_request request = { .program = &program,
					    .argv = words,
					    .names = names };
	char *rest = copy, *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	while (rest != NULL && request.argc < WORDS_MAX)
		words[request.argc++] = strsep(&rest, " ");
	complete_write(&request, to);
	(void)fclose(to);
	return text;
}

static void
test_each_place_has_its_words(void **state)
{
	static const struct {
		const char *line;
		const char *found;
	} cases[] = {
		{ "prog ", "move\tmoves it\ntell\ttells it\n:4\n" },
		{ "prog m", "move\tmoves it\n:4\n" },
		{ "prog x", ":4\n" },
		{ "prog __", ":4\n" },
		{ "prog x y", ":4\n" },
		{ "prog -n ", "NAMESPACE-default-1\tabout\n"
			      "NAMESPACE-default-2\n:4\n" },
		{ "prog -n a m", "move\tmoves it\n:4\n" },
		{ "prog move ", "VM-default-1\tabout\nVM-default-2\n:4\n" },
		{ "prog -n a move ", "VM-a-1\tabout\nVM-a-2\n:4\n" },
		{ "prog move --namespace=a --wait ",
		  "VM-a-1\tabout\nVM-a-2\n:4\n" },
		{ "prog move VM-default-2", "VM-default-2\n:4\n" },
		{ "prog move x ", ":4\n" },
		{ "prog move --w", "--wait\tuntil it is over\n:4\n" },
		{ "prog move x --output ", "json\n:4\n" },
		{ "prog move -o j", "json\n:4\n" },
		{ "prog move --output=", "--output=json\n:4\n" },
		{ "prog move --context=CONTEXT-default-1",
		  "--context=CONTEXT-default-1\tabout\n:4\n" },
		{ "prog move --kubeconfig ", ":0\n" },
		{ "prog move --dir ", ":16\n" },
		{ "prog move -- --w", ":4\n" },
		{ "prog tell ", "VM-default-1\tabout\nVM-default-2\n"
				"vm\nvmim\n:4\n" },
		{ "prog tell vmim ", "vmim-default-1\tabout\n"
				     "vmim-default-2\n:4\n" },
		{ "prog tell other ", ":4\n" },
		{ "prog tell vm x ", ":4\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr) char *found = complete(cases[i].line);

		assert_string_equal(found, cases[i].found);
	}
}

static void
test_an_option_that_was_begun_is_offered_with_all_others(void **state)
{
	AUTO(free_ptr) char *found = complete("prog move -");

	(void)state;
	assert_non_null(strstr(found, "--wait\tuntil it is over\n"));
	assert_non_null(strstr(found, "--namespace\t"));
	assert_non_null(strstr(found, "--help\t"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_place_has_its_words),
		cmocka_unit_test(
			test_an_option_that_was_begun_is_offered_with_all_others),
	};

	return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
