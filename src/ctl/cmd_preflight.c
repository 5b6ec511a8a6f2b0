/* SPDX-License-Identifier: Apache-2.0 */

/* The command `preflight`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/kinds.h"
#include "api/names.h"
#include "api/pathprobe.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/command.h"
#include "ctl/nodefit.h"
#include "ctl/outlook.h"
#include "ctl/pathask.h"
#include "ctl/preflight.h"
#include "ctl/verb.h"
#include "kube/obj.h"
#include "meta/time.h"

#define REQUEST_MS 10000U
#define STATUS_NO 3      /* it would not move */
#define STATUS_UNKNOWN 4 /* what decides it may not be read */
#define MEASURED_MAX 4   /* nodes; each takes some seconds */

struct preflight {
	struct verb verb;
	const char *vm;
	const char *node;
	const char *output;
	bool no_measure;
	json_t *vmi, *own, *vmims, *nodes, *pods, *quotas, *claims, *nets;
	json_t *kubevirts, *policies, *namespace, *others, *machines;
	struct kubevirt_config *config;
	char *refusal;
	struct preflight_facts facts; /* all of the above */
	json_t *checks;
	json_t *outlooks; /* by node */
};

static int
send_request(struct preflight *p, struct kube_request *request, json_t **ret,
	     struct err *err)
{
	request->timeout_ms = REQUEST_MS;
	return kubesync_send(p->verb.kube, request, ret, err);
}

static int
get(struct preflight *p, const struct kube_resource *resource, const char *ns,
    const char *name, json_t **ret, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = resource,
		.ns = ns,
		.name = name,
	};

	return send_request(p, &request, ret, err);
}

/* *ret stays NULL when it may not be read. */
static int
list(struct preflight *p, struct kube_request *request, json_t **ret,
     struct err *err)
{
	AUTO(js_unref) json_t *answer = NULL;

	request->verb = KUBE_GET;
	if (send_request(p, request, &answer, err) == -1)
		return err->kind == ERR_DENIED ? 0 : -1;
	*ret = json_incref(js_arr_at(answer, "items"));
	return 0;
}

static int
gather_lists(struct preflight *p, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_VMI_NAME "==%s", p->vm);
	struct kube_request vmims = { .resource = &api_vmims,
				      .ns = p->verb.ns,
				      .label_selector = selector };
	struct kube_request nodes = { .resource = &kube_nodes };
	struct kube_request pods = { .resource = &kube_pods };
	struct kube_request quotas = { .resource = &kube_resourcequotas,
				       .ns = p->verb.ns };
	struct kube_request kubevirts = { .resource = &api_kubevirts };
	struct kube_request policies = { .resource = &api_policies };
	struct kube_request others = { .resource = &api_vmims };
	struct kube_request machines = { .resource = &api_vmis };

	if (list(p, &vmims, &p->vmims, err) == -1 ||
	    list(p, &nodes, &p->nodes, err) == -1 ||
	    list(p, &pods, &p->pods, err) == -1 ||
	    list(p, &kubevirts, &p->kubevirts, err) == -1 ||
	    list(p, &policies, &p->policies, err) == -1 ||
	    list(p, &others, &p->others, err) == -1 ||
	    list(p, &machines, &p->machines, err) == -1)
		return -1;
	return list(p, &quotas, &p->quotas, err);
}

static int
list_own_pods(struct preflight *p, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_CREATED_BY "==%s", obj_uid(p->vmi));
	struct kube_request request = { .resource = &kube_pods,
					.ns = p->verb.ns,
					.label_selector = selector };

	return list(p, &request, &p->own, err);
}

/* The one on the machine's node. */
static const json_t *
find_pod(const struct preflight *p)
{
	const json_t *pod;
	size_t i;

	json_array_foreach(p->own, i, pod)
	{
		if (str_equal(js_str_at(pod, "spec.nodeName"),
			      js_str_at(p->vmi, "status.nodeName")) &&
		    preflight_is_live(pod))
			return pod;
	}
	return NULL;
}

static int
gather_claims(struct preflight *p, struct err *err)
{
	const json_t *volume;
	size_t i;

	p->claims = json_object();
	json_array_foreach(js_arr_at(p->vmi, "spec.volumes"), i, volume)
	{
		const char *name =
			js_str_at(volume, "persistentVolumeClaim.claimName");
		json_t *claim = NULL;

		if (name[0] == '\0')
			name = js_str_at(volume, "dataVolume.name");
		if (name[0] == '\0')
			continue;
		if (get(p, &kube_persistentvolumeclaims, p->verb.ns, name,
			&claim, err) == -1 &&
		    err->kind != ERR_NOT_FOUND && err->kind != ERR_DENIED)
			return -1;
		json_object_set_new(p->claims, name,
				    claim != NULL             ? claim
				    : err->kind == ERR_DENIED ? json_false()
							      : json_null());
	}
	return 0;
}

static int
gather_networks(struct preflight *p, struct err *err)
{
	const json_t *network;
	size_t i;

	p->nets = json_object();
	json_array_foreach(js_arr_at(p->vmi, "spec.networks"), i, network)
	{
		const char *name = js_str_at(network, "multus.networkName");
		const char *slash = strchr(name, '/');
		AUTO(free_ptr)
		char *ns = slash == NULL
				   ? xstrdup(p->verb.ns)
				   : xstrndup(name, (size_t)(slash - name));
		AUTO(js_unref) json_t *nad = NULL;

		if (name[0] == '\0')
			continue;
		if (get(p, &api_nads, ns, slash == NULL ? name : slash + 1,
			&nad, err) == -1 &&
		    err->kind != ERR_NOT_FOUND && err->kind != ERR_DENIED)
			return -1;
		json_object_set_new(p->nets, name,
				    nad != NULL               ? json_true()
				    : err->kind == ERR_DENIED ? json_null()
							      : json_false());
	}
	return 0;
}

/* Whether the person may make migrations at all; yes where nobody says. */
static bool
may_migrate(struct preflight *p)
{
	static const struct kube_resource reviews = {
		.group = "authorization.k8s.io",
		.version = "v1",
		.plural = "selfsubjectaccessreviews",
		.kind = "SelfSubjectAccessReview",
	};
	AUTO(js_unref)
	json_t *body = json_pack(
		"{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s}}}", "apiVersion",
		"authorization.k8s.io/v1", "kind", reviews.kind, "spec",
		"resourceAttributes", "namespace", p->verb.ns, "verb", "create",
		"group", api_vmims.group, "resource", api_vmims.plural);
	AUTO(js_unref) json_t *answer = NULL;
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &reviews,
		.body = body,
	};
	struct err ignored;

	return send_request(p, &request, &answer, &ignored) == -1 ||
	       js_bool_at(answer, "status.allowed", true);
}

/* What the control plane would say, without making anything. */
static int
ask_admission(struct preflight *p, struct err *err)
{
	AUTO(js_unref)
	json_t *body = json_pack(
		"{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "kubevirt.io/v1",
		"kind", "VirtualMachineInstanceMigration", "metadata",
		"generateName", "preflight-", "spec", "vmiName", p->vm);
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &api_vmims,
		.ns = p->verb.ns,
		.body = body,
		.dry_run = true,
	};

	if (p->node != NULL)
		json_object_set_new(
			js_obj_at(body, "spec"), "addedNodeSelector",
			json_pack("{s:s}", LABEL_HOSTNAME, p->node));
	if (send_request(p, &request, NULL, err) == 0)
		p->refusal = xstrdup("");
	else if (err->kind == ERR_UNAVAILABLE || err->kind == ERR_TIMEOUT)
		return -1;
	else if (err->kind != ERR_DENIED || may_migrate(p))
		p->refusal = xstrdup(err->text);
	return 0;
}

static int
gather(struct preflight *p, struct err *err)
{
	AUTO(js_unref) json_t *vm = NULL;

	if (get(p, &api_vmis, p->verb.ns, p->vm, &p->vmi, err) == -1) {
		if (err->kind != ERR_NOT_FOUND ||
		    get(p, &api_vms, p->verb.ns, p->vm, &vm, err) == -1)
			return -1;
		return 0; /* stopped: that is what will be said */
	}
	if (gather_lists(p, err) == -1 || list_own_pods(p, err) == -1 ||
	    gather_claims(p, err) == -1 || gather_networks(p, err) == -1)
		return -1;
	if (get(p, &kube_namespaces, NULL, p->verb.ns, &p->namespace, err) ==
		    -1 &&
	    err->kind != ERR_DENIED)
		return -1;
	if (p->node != NULL && p->nodes != NULL &&
	    nodefit_find(p->nodes, p->node) == NULL)
		return err_set(err, ERR_NOT_FOUND, "nodes \"%s\" not found",
			       p->node);
	return ask_admission(p, err);
}

static int
know(struct preflight *p, struct err *err)
{
	const json_t *kubevirt = json_array_get(p->kubevirts, 0);

	p->config = kubevirt_config_decode(kubevirt, err);
	if (p->config == NULL)
		return -1;
	p->facts = (struct preflight_facts){
		.vmi = p->vmi,
		.own = p->own,
		.pod = find_pod(p),
		.vmims = p->vmims,
		.others = p->others,
		.machines = p->machines,
		.nodes = p->nodes,
		.pods = p->pods,
		.quotas = p->quotas,
		.claims = p->claims,
		.nets = p->nets,
		.config = p->config,
		.configuration = js_obj_at(kubevirt, "spec.configuration"),
		.config_known = p->kubevirts != NULL,
		.policies_known = p->kubevirts != NULL && p->policies != NULL &&
				  p->namespace != NULL,
		.refusal = p->refusal,
		.only = p->node,
		.now_us = time_now_us(),
	};
	return 0;
}

/* Of those that fit, and of no more than a person waits for. */
static int
measure_node(struct preflight *p, const struct outlook_facts *facts,
	     const struct migration_config *config, const char *node,
	     struct err *err)
{
	const struct pathprobe_question question = {
		.source = js_str_at(p->vmi, "status.nodeName"),
		.target = node,
		.vmi_name = p->vm,
		.measure = PATHPROBE_THROUGHPUT,
		.guest = true,
	};
	AUTO(js_unref) json_t *status = NULL;

	if (pathask(p->verb.kube, p->verb.ns, &question, &status, err) == -1)
		return -1;
	json_object_set_new(p->outlooks, node,
			    outlook_judge(facts, config, node, status,
					  time_now_us(), p->checks));
	return 0;
}

static void
measure_nodes(struct preflight *p, const struct outlook_facts *facts,
	      const struct migration_config *config)
{
	const json_t *node;
	size_t i, measured = 0;

	json_array_foreach(p->nodes, i, node)
	{
		const char *name = obj_name(node);
		struct err err;

		if (!nodefit_is_asked(&p->facts, node) ||
		    checks_count(p->checks, name, CHECK_FAIL) > 0)
			continue;
		if (measured == MEASURED_MAX) {
			checks_add(p->checks, name, CHECK_UNKNOWN, "path",
				   "not measured: %d others were; see --node",
				   MEASURED_MAX);
			continue;
		}
		measured++;
		if (measure_node(p, facts, config, name, &err) == -1)
			checks_add(p->checks, name, CHECK_UNKNOWN, "path",
				   "cannot be measured: %s", err.text);
	}
}

static int
look_ahead(struct preflight *p, struct err *err)
{
	const struct outlook_facts facts = {
		.vmi = p->vmi,
		.kubevirt = json_array_get(p->kubevirts, 0),
		.policies = p->policies,
		.ns = p->namespace,
		.claims = p->claims,
		.machines = p->machines,
	};
	AUTO(free_ptr) char *policy = NULL;
	struct migration_config config;

	if (outlook_settings(&facts, &config, &policy, err) == -1)
		return -1;
	preflight_settings(&p->facts, &config, policy, p->checks);
	preflight_limits(&p->facts, &config, p->checks);
	if (!p->no_measure && p->facts.pod != NULL &&
	    checks_count(p->checks, PREFLIGHT_MACHINE, CHECK_FAIL) == 0)
		measure_nodes(p, &facts, &config);
	migration_config_done(&config);
	return 0;
}

/* What is measured and waited for does not make it unsure: that comes after. */
static int
judge(struct preflight *p, bool *ret_unsure, struct err *err)
{
	*ret_unsure = false;
	if (p->vmi == NULL) {
		preflight_stopped(p->checks);
		return 0;
	}
	if (know(p, err) == -1)
		return -1;
	preflight_machine(&p->facts, p->checks);
	nodefit_judge(&p->facts, p->checks);
	*ret_unsure = checks_count(p->checks, NULL, CHECK_UNKNOWN) > 0;
	return look_ahead(p, err);
}

static int
print_result(struct preflight *p, bool unsure)
{
	static const struct {
		int status;
		const char *name, *text, *nodes;
	} verdicts[] = {
		[PREFLIGHT_YES] = { 0, "Moves", "would move",
				    "nodes that fit" },
		[PREFLIGHT_NO] = { STATUS_NO, "DoesNotMove",
				   "would not move now", "nodes that fit" },
		[PREFLIGHT_UNKNOWN] = { STATUS_UNKNOWN, "Unknown",
					"nobody can tell without the rights "
					"to look at what is marked with ?",
					"nodes that may fit" },
	};
	size_t fit = nodefit_count(&p->facts, p->checks);
	enum preflight_verdict verdict =
		preflight_verdict(p->checks, fit, unsure);
	AUTO(js_unref) json_t *sorted = checks_grouped(p->checks);
	AUTO(free_ptr) char *text = NULL;

	if (p->output != NULL) {
		AUTO(js_unref)
		json_t *all =
			json_pack("{s:s, s:s, s:s, s:b, s:I, s:O, s:O}",
				  "namespace", p->verb.ns, "machine", p->vm,
				  "verdict", verdicts[verdict].name, "moves",
				  (int)(verdict == PREFLIGHT_YES),
				  "nodesThatFit", (json_int_t)fit, "checks",
				  sorted, "measured", p->outlooks);

		text = json_dumps(all, JSON_INDENT(2));
		(void)printf("%s\n", text);
	} else {
		text = checks_text(sorted);
		(void)printf("%s\n%s: %s; %s: %zu\n", text, p->vm,
			     verdicts[verdict].text, verdicts[verdict].nodes,
			     fit);
	}
	return verdicts[verdict].status;
}

static void
preflight_done(struct preflight *p)
{
	json_t *const all[] = { p->vmi,      p->own,    p->vmims,
				p->nodes,    p->pods,   p->quotas,
				p->claims,   p->nets,   p->kubevirts,
				p->policies, p->others, p->namespace,
				p->machines, p->checks, p->outlooks };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		json_decref(all[i]);
	kubevirt_config_free(p->config);
	free(p->refusal);
	verb_done(&p->verb);
}

int
command_preflight(int argc, char **argv)
{
	struct preflight p = { .vm = NULL };
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&p.verb.flags),
		{ "node", "NODE", "only this one as a target", OPT_STR, &p.node,
		  0, 0 },
		{ "no-measure", NULL,
		  "neither measure the network nor sample the guest", OPT_FLAG,
		  &p.no_measure, 0, 0 },
		{ "output", "json", "the checks as a JSON object", OPT_STR,
		  &p.output, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl preflight",
		.args = "VM",
		.summary = "Says whether a machine would move now, whereto, "
			   "and how it would go, without moving it.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	bool unsure;
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	p.vm = argv[first];
	p.checks = json_array();
	p.outlooks = json_object();
	if (p.output != NULL && !str_equal(p.output, "json"))
		status = err_set(&err, ERR_INVALID,
				 "--output: '%s' is not json", p.output);
	else if (verb_open(&p.verb, &err) == -1 || gather(&p, &err) == -1 ||
		 judge(&p, &unsure, &err) == -1)
		status = -1;
	else
		status = print_result(&p, unsure);
	if (status == -1)
		status = command_error(&err, err.kind == ERR_INVALID
						     ? COMMAND_USAGE
						     : COMMAND_FAILED);
	preflight_done(&p);
	return status;
}
