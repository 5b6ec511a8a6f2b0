/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handler does with the network of a pod, one call at a time:
 *
 *	podnet setup PID POD-UID VMI-FILE CACHE-DIR [STEPS]
 *	podnet steps PID POD-UID VMI-FILE
 *	podnet teardown PID CACHE-DIR
 *
 * setup prints {"interfaces", "changed", "mended"}. With STEPS it does so many
 * of the steps and ends there, as if it had been killed. steps prints those
 * that there are to do, one a line.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "handler/network/netfacts.h"
#include "handler/network/network.h"
#include "handler/network/plan.h"
#include "handler/network/want.h"
#include "net/netlink.h"

#define VMI_MAX (1024UL * 1024)

static json_t *
read_vmi(const char *path, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	size_t len;

	if (path_read_file(path, VMI_MAX, &text, &len, err) == -1)
		return NULL;
	return js_parse(text, len, err);
}

/* The first steps of what there is to do, executed or printed. */
static int
some_steps(const struct network_request *request, size_t steps, bool print,
	   struct err *err)
{
	AUTO(netlink_unref) struct netlink *nl = NULL;
	AUTO(netfacts_done) struct netfacts facts = { 0 };
	AUTO(wants_done) struct wants wants = { 0 };
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	char text[OP_TEXT_SIZE];

	if (wants_decode(request->vmi, &wants, err) == -1 ||
	    netlink_open(request->pod->netns_fd, &nl, err) == -1 ||
	    netfacts_read(nl, &facts, err) == -1 ||
	    plan_setup(&facts, &wants, request->pod_uid, &plan, err) == -1)
		return -1;
	for (size_t i = 0; i < plan.ops.count && i < steps; i++) {
		const struct op *op = &plan.ops.items[i];
		const struct op_place place = { nl, request->pod->netns_fd,
						request->tap_uid,
						request->tap_gid };

		if (print)
			(void)printf("%s%s\n", op->always ? "always " : "",
				     op_text(op, text));
		else if (op_execute(op, &place, err) == -1)
			return -1;
	}
	return 0;
}

static int
setup(const struct network_request *request, struct err *err)
{
	AUTO(network_result_unref) struct network_result *result = NULL;
	AUTO(js_unref) json_t *answer = NULL;
	AUTO(free_ptr) char *text = NULL;

	if (network_setup(request, &result, err) == -1)
		return -1;
	answer = json_pack("{s:o, s:b, s:s}", "interfaces",
			   network_result_json(result), "changed",
			   (int)result->changed, "mended", result->mended);
	text = js_text(answer);
	(void)puts(text);
	return 0;
}

static int
run(int argc, char **argv, struct err *err)
{
	AUTO(network_pod_close) struct network_pod pod = NETWORK_POD_INIT;
	AUTO(js_unref) json_t *vmi = NULL;
	AUTO(close_fd) int cache = -1;
	struct network_request request = { .pod = &pod };

	if (network_pod_open((pid_t)strtol(argv[2], NULL, 10), &pod, err) == -1)
		return -1;
	if (str_equal(argv[1], "teardown")) {
		if (path_open_dir(argv[3], &cache, err) == -1)
			return -1;
		return network_teardown(&pod, cache, err);
	}
	vmi = read_vmi(argv[4], err);
	if (vmi == NULL)
		return -1;
	request.pod_uid = argv[3];
	request.vmi = vmi;
	if (str_equal(argv[1], "steps"))
		return some_steps(&request, SIZE_MAX, true, err);
	if (argc == 7)
		return some_steps(&request, strtoul(argv[6], NULL, 10), false,
				  err);
	if (path_open_dir(argv[5], &cache, err) == -1)
		return -1;
	request.cache_fd = cache;
	return setup(&request, err);
}

int
main(int argc, char **argv)
{
	struct err err;

	js_init();
	log_init("podnet", LOG_LEVEL_DEBUG, LOG_FORMAT_HUMAN);
	if (argc < 4) {
		(void)fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	if (run(argc, argv, &err) == -1) {
		(void)fprintf(stderr, "%s: %s\n", err_kind_name(err.kind),
			      err.text);
		return 1;
	}
	return 0;
}
