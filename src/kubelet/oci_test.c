/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/oci.h"

#include "api/testjson.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kubelet/env.h"
#include "kubelet/image.h"
#include "kubelet/settings.h"

static const struct settings settings = { .root_dir = "/var/lib/kubelet",
					  .run_dir = "/run/k",
					  .crun = "crun",
					  .node_name = "n1",
					  .log_max_bytes = 1000 };
static const struct env_facts facts = { .host_ip = "10.0.0.1",
					.pod_ip = "10.0.0.2",
					.node_name = "n1" };

struct made {
	json_t *pod, *container, *volumes, *image, *config, *monitor;
	struct err err;
	int r;
};

static struct made
make(const char *pod, const char *container, const char *image)
{
	struct made m = { .pod = testjson(pod),
			  .container = testjson(container),
			  .image = testjson(image),
			  .volumes =
				  testjson("{'d':{'path':'/vol/d'},'r':{'path':"
					   "'/vol/r','readOnly':true}}") };
	struct image of = {
		.root = m.image == NULL ? NULL : (char *)(uintptr_t) "/i",
		.config = m.image,
		.host = str_equal(js_str_at(m.image, "kind"), "host")
	};

	m.r = oci_make(&(struct oci_request){ .settings = &settings,
					      .pod = m.pod,
					      .container = m.container,
					      .volumes = m.volumes,
					      .image = &of,
					      .facts = &facts,
					      .id = "u-c-0",
					      .ns_dir = "/run/k/ns/u",
					      .etc_dir = "/no/etc",
					      .cgroup = "/f/podu/c-0",
					      .unified = true },
		       &m.config, &m.monitor, &m.err);
	return m;
}

static void
done(struct made *m)
{
	js_unref(&m->pod);
	js_unref(&m->container);
	js_unref(&m->volumes);
	js_unref(&m->image);
	if (m->r == 0) {
		js_unref(&m->config);
		js_unref(&m->monitor);
	}
}

#define POD "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{}}"

static const json_t *
mount_at(const struct made *m, const char *target)
{
	return js_find(js_arr_at(m->config, "mounts"), "destination", target);
}

static bool
has(const json_t *array, const char *text)
{
	const json_t *one;
	size_t i;

	json_array_foreach(array, i, one)
	{
		if (str_equal(json_string_value(one), text))
			return true;
	}
	return false;
}

static void
test_what_runs_comes_from_container_and_image(void **state)
{
	static const struct {
		const char *container, *args;
	} cases[] = {
		{ "{'command':['a','$(A)'],'args':['b'],'env':"
		  "[{'name':'A','value':'x'}]}",
		  "[\"a\",\"x\",\"b\"]" },
		{ "{'args':['b']}", "[\"entry\",\"b\"]" },
		{ "{}", "[\"entry\",\"cmd\"]" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct made m = make(POD, cases[i].container,
				     "{'entrypoint':['entry'],'command':"
				     "['cmd'],'workingDir':'/w','user':'5:6'}");
		AUTO(free_ptr) char *args = NULL;

		assert_int_equal(m.r, 0);
		args = js_text(js_arr_at(m.config, "process.args"));
		assert_string_equal(args, cases[i].args);
		assert_string_equal(js_str_at(m.config, "process.cwd"), "/w");
		assert_int_equal(js_int_at(m.config, "process.user.uid", -1),
				 5);
		done(&m);
	}
}

static void
test_a_container_without_a_command_is_refused(void **state)
{
	struct made m = make(POD, "{}", "{}");

	(void)state;
	assert_int_equal(m.r, -1);
	assert_string_equal(m.err.text, "no command specified");
	done(&m);
}

static void
test_volumes_are_bound_parts_are_left_to_the_monitor(void **state)
{
	struct made m = make(
		POD,
		"{'command':['x'],'volumeMounts':["
		"{'name':'d','mountPath':'/a/b'},{'name':'d','mountPath':'/a',"
		"'readOnly':true},{'name':'r','mountPath':'/r'},"
		"{'name':'d','mountPath':'/s','subPath':'x/y'}]}",
		"{}");
	const json_t *part;

	(void)state;
	assert_int_equal(m.r, 0);
	assert_string_equal(js_str_at(mount_at(&m, "/a/b"), "source"),
			    "/vol/d");
	assert_true(has(js_arr_at(mount_at(&m, "/a"), "options"), "ro"));
	assert_true(has(js_arr_at(mount_at(&m, "/a/b"), "options"), "rw"));
	assert_true(has(js_arr_at(mount_at(&m, "/r"), "options"), "ro"));
	assert_string_equal(js_str_at(mount_at(&m, "/s"), "source"), "part0");
	part = json_array_get(js_arr_at(m.monitor, "parts"), 0);
	assert_string_equal(js_str_at(part, "base"), "/vol/d");
	assert_string_equal(js_str_at(part, "sub"), "x/y");
	done(&m);
}

static void
test_mounts_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = {
		"{'command':['x'],'volumeMounts':[{'name':'no',"
		"'mountPath':'/a'}]}",
		"{'command':['x'],'volumeMounts':[{'name':'d',"
		"'mountPath':'a'}]}",
		"{'command':['x'],'volumeMounts':[{'name':'d',"
		"'mountPath':'/a/../b'}]}",
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct made m = make(POD, bad[i], "{}");

		assert_int_equal(m.r, -1);
		done(&m);
	}
}

static void
test_resources_become_limits(void **state)
{
	struct made m = make(POD,
			     "{'command':['x'],'resources':{'limits':{"
			     "'cpu':'1500m','memory':'64Mi'},'requests':"
			     "{'cpu':'500m'}}}",
			     "{}");
	const json_t *resources = js_obj_at(m.config, "linux.resources");

	(void)state;
	assert_int_equal(js_int_at(resources, "cpu.quota", 0), 150000);
	assert_int_equal(js_int_at(resources, "cpu.shares", 0), 512);
	assert_int_equal(js_int_at(resources, "memory.limit", 0), 64 << 20);
	assert_int_equal(js_int_at(m.monitor, "limits.cpuMilli", 0), 1500);
	done(&m);
}

static void
test_security_is_that_of_the_container_then_of_the_pod(void **state)
{
	struct made m = make(
		"{'metadata':{'name':'p','uid':'u'},'spec':{'securityContext':"
		"{'runAsUser':1,'runAsGroup':2,'fsGroup':3,"
		"'supplementalGroups':[4]}}}",
		"{'command':['x'],'securityContext':{'runAsUser':9,"
		"'allowPrivilegeEscalation':false,'capabilities':{"
		"'drop':['ALL'],'add':['KILL']}}}",
		"{}");
	AUTO(free_ptr) char *caps = NULL;
	AUTO(free_ptr) char *user = NULL;

	(void)state;
	assert_int_equal(m.r, 0);
	user = js_text_sorted(js_obj_at(m.config, "process.user"), NULL);
	assert_string_equal(user,
			    "{\"additionalGids\":[4,3],\"gid\":2,\"uid\":9}");
	caps = js_text(js_arr_at(m.config, "process.capabilities.bounding"));
	assert_string_equal(caps, "[\"CAP_KILL\"]");
	assert_true(js_bool_at(m.config, "process.noNewPrivileges", false));
	assert_non_null(js_obj_at(m.config, "linux.seccomp"));
	done(&m);
	m = make(POD,
		 "{'command':['x'],'securityContext':{'capabilities':{"
		 "'add':['FLY']}}}",
		 "{}");
	assert_int_equal(m.r, -1);
	assert_string_equal(m.err.text, "capability 'FLY' is not known");
	done(&m);
}

static void
test_the_host_as_an_image_hides_what_is_not_for_pods(void **state)
{
	struct made m =
		make(POD, "{'command':['x']}",
		     "{'kind':'host','binds':[{'source':'/b','target':'/t'}]}");

	(void)state;
	assert_true(js_bool_at(m.config, "root.readonly", false));
	assert_true(has(js_arr_at(m.monitor, "hidden"), "/var/lib/kubelet"));
	assert_true(has(js_arr_at(m.monitor, "hidden"), "/root"));
	assert_string_equal(js_str_at(mount_at(&m, "/run"), "type"), "tmpfs");
	assert_string_equal(js_str_at(mount_at(&m, "/t"), "source"), "/b");
	assert_true(js_int_at(m.monitor, "upperMemory", 0) > 0);
	done(&m);
	/* Nothing of the host is in an image of files; and who is privileged
	 * has the host anyway. */
	m = make(POD, "{'command':['x']}", "{}");
	assert_null(js_at(m.monitor, "hidden"));
	done(&m);
	m = make(POD, "{'command':['x'],'securityContext':{'privileged':true}}",
		 "{'kind':'host'}");
	assert_null(js_at(m.monitor, "hidden"));
	done(&m);
}

static void
test_namespaces_are_the_pods_unless_it_wants_the_hosts(void **state)
{
	struct made m = make(POD, "{'command':['x']}", "{}");
	const json_t *list = js_arr_at(m.config, "linux.namespaces");

	(void)state;
	assert_string_equal(js_str_at(js_find(list, "type", "network"), "path"),
			    "/run/k/ns/u/network");
	assert_non_null(js_find(list, "type", "pid"));
	done(&m);
	m = make("{'metadata':{'name':'p'},'spec':{'hostNetwork':true,"
		 "'hostPID':true}}",
		 "{'command':['x']}", "{}");
	list = js_arr_at(m.config, "linux.namespaces");
	assert_null(js_find(list, "type", "network"));
	assert_null(js_find(list, "type", "pid"));
	done(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_runs_comes_from_container_and_image),
		cmocka_unit_test(test_a_container_without_a_command_is_refused),
		cmocka_unit_test(
			test_volumes_are_bound_parts_are_left_to_the_monitor),
		cmocka_unit_test(test_mounts_that_lead_elsewhere_are_refused),
		cmocka_unit_test(test_resources_become_limits),
		cmocka_unit_test(
			test_security_is_that_of_the_container_then_of_the_pod),
		cmocka_unit_test(
			test_the_host_as_an_image_hides_what_is_not_for_pods),
		cmocka_unit_test(
			test_namespaces_are_the_pods_unless_it_wants_the_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
