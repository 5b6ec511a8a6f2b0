/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/cni.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/process.h"
#include "base/str.h"

#define CNI_VERSION "1.0.0"
#define TYPE_MAX 128
#define ENV_COUNT 8

struct cni_call {
	struct loop *loop;
	char *verb;
	char *bin_dir;
	json_t *list;
	json_t *result;
	char *env[ENV_COUNT + 1];
	char *mac;
	size_t next; /* of plugins that were begun */
	struct process *process;
	cni_done_fn *done;
	void *arg;
};

static int
check_plugin(const json_t *plugin, struct err *err)
{
	if (!str_is_name(js_str_at(plugin, "type"), TYPE_MAX))
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be a network plugin",
			       js_str_at(plugin, "type"));
	return 0;
}

json_t *
cni_list(const json_t *config, const char *name, struct err *err)
{
	AUTO(js_unref) json_t *list = json_object();
	const json_t *plugin;
	json_t *plugins = js_arr_at(config, "plugins");
	const char *version = js_str_at(config, "cniVersion");
	const char *own = js_str_at(config, "name");
	size_t i;

	if (plugins != NULL)
		(void)json_object_set(list, "plugins", plugins);
	else
		(void)json_object_set_new(
			list, "plugins",
			json_pack("[O]", (json_t *)(uintptr_t)config));
	plugins = js_arr_at(list, "plugins");
	if (json_array_size(plugins) == 0 ||
	    json_array_size(plugins) > CNI_PLUGINS_MAX) {
		(void)err_set(err, ERR_INVALID,
			      "network '%s' must have 1 to %d plugins", name,
			      CNI_PLUGINS_MAX);
		return NULL;
	}
	json_array_foreach(plugins, i, plugin)
	{
		if (check_plugin(plugin, err) == -1)
			return NULL;
	}
	(void)json_object_set_new(
		list, "cniVersion",
		json_string(*version == '\0' ? CNI_VERSION : version));
	(void)json_object_set_new(list, "name",
				  json_string(*own == '\0' ? name : own));
	return TAKE_PTR(list);
}

static int
is_config(const struct dirent *entry)
{
	return entry->d_name[0] != '.' &&
	       (str_has_suffix(entry->d_name, ".conflist") ||
		str_has_suffix(entry->d_name, ".conf") ||
		str_has_suffix(entry->d_name, ".json"));
}

static json_t *
load_file(const char *dir, const char *file, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, file);
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *config = NULL;
	json_t *list;
	size_t len;

	if (path_read_file(path, CNI_CONFIG_MAX, &text, &len, err) == -1)
		return NULL;
	config = js_parse(text, len, err);
	list = config == NULL ? NULL : cni_list(config, file, err);
	if (list == NULL)
		(void)err_prefix(err, "'%s'", path);
	return list;
}

/* The first by file name whose network has this name, or any. */
static json_t *
find(const char *dir, const char *name, struct err *err)
{
	struct dirent **entries;
	json_t *found = NULL;
	int n = scandir(dir, &entries, is_config, alphasort);

	if (n == -1) {
		(void)err_errno(err, "cannot read '%s'", dir);
		return NULL;
	}
	(void)err_set(err, ERR_NOT_FOUND, "no network %s%s%sin '%s'",
		      name == NULL ? "" : "'", name == NULL ? "" : name,
		      name == NULL ? "" : "' ", dir);
	for (int i = 0; i < n; i++) {
		if (found == NULL) {
			found = load_file(dir, entries[i]->d_name, err);
			if (found != NULL && name != NULL &&
			    !str_equal(js_str_at(found, "name"), name))
				js_unref(&found);
		}
		free(entries[i]);
	}
	free(entries);
	return found;
}

json_t *
cni_list_load(const char *dir, struct err *err)
{
	return find(dir, NULL, err);
}

json_t *
cni_list_find(const char *dir, const char *name, struct err *err)
{
	json_t *list = find(dir, name, err);

	if (list == NULL)
		(void)err_set(err, ERR_NOT_FOUND, "no network '%s' in '%s'",
			      name, dir);
	return list;
}

static void
call_free(struct cni_call *call)
{
	for (size_t i = 0; i < ENV_COUNT; i++)
		free(call->env[i]);
	js_unref(&call->list);
	js_unref(&call->result);
	free(call->verb);
	free(call->bin_dir);
	free(call->mac);
	free(call);
}

static void
finish(struct cni_call *call, const struct err *err)
{
	call->done(err, call->result, call->arg);
	call_free(call);
}

static const json_t *
current_plugin(const struct cni_call *call)
{
	const json_t *plugins = js_arr_at(call->list, "plugins");
	size_t count = json_array_size(plugins);
	size_t at = call->next;

	if (at >= count)
		return NULL;
	if (str_equal(call->verb, "DEL"))
		at = count - 1 - at;
	return json_array_get(plugins, at);
}

/* What the plugin reads: its part of the list, with what it must know. */
static char *
plugin_input(const struct cni_call *call, const json_t *plugin)
{
	AUTO(js_unref) json_t *input = json_deep_copy(plugin);

	(void)json_object_set(input, "cniVersion",
			      json_object_get(call->list, "cniVersion"));
	(void)json_object_set(input, "name",
			      json_object_get(call->list, "name"));
	if (call->result != NULL)
		(void)json_object_set(input, "prevResult", call->result);
	if (call->mac != NULL && js_bool_at(plugin, "capabilities.mac", false))
		(void)json_object_set_new(
			js_make_obj_at(input, "runtimeConfig"), "mac",
			json_string(call->mac));
	return js_text(input);
}

/* A plugin says why it failed in JSON, on its standard output. */
static void
explain(const struct cni_call *call, const json_t *plugin,
	const struct process_result *result, struct err *err)
{
	AUTO(js_unref) json_t *said = NULL;
	struct err ignored;

	if (result->status > 0)
		said = js_parse(result->out, result->out_len, &ignored);
	if (said != NULL && *js_str_at(said, "msg") != '\0') {
		(void)err_set(err, ERR_INTERNAL, "%s%s%s",
			      js_str_at(said, "msg"),
			      *js_str_at(said, "details") == '\0' ? "" : "; ",
			      js_str_at(said, "details"));
	} else {
		*err = *result->err;
	}
	(void)err_prefix(err, "plugin type=\"%s\" name=\"%s\" failed (%s)",
			 js_str_at(plugin, "type"),
			 js_str_at(call->list, "name"), call->verb);
}

static void run_next(struct cni_call *call);

static void
on_plugin(const struct process_result *result, void *arg)
{
	struct cni_call *call = arg;
	const json_t *plugin = current_plugin(call);
	struct err err;

	call->process = NULL;
	if (result->err != NULL) {
		explain(call, plugin, result, &err);
		finish(call, &err);
		return;
	}
	if (str_equal(call->verb, "ADD")) {
		json_t *added = js_parse(result->out, result->out_len, &err);

		if (!json_is_object(added)) {
			js_unref(&added);
			(void)err_prefix(&err, "plugin '%s' has no result",
					 js_str_at(plugin, "type"));
			finish(call, &err);
			return;
		}
		js_unref(&call->result);
		call->result = added;
	}
	call->next++;
	run_next(call);
}

static void
run_next(struct cni_call *call)
{
	const json_t *plugin = current_plugin(call);
	AUTO(free_ptr) char *input = NULL;
	AUTO(free_ptr) char *program = NULL;

	if (plugin == NULL) {
		finish(call, NULL);
		return;
	}
	input = plugin_input(call, plugin);
	program = xasprintf("%s/%s", call->bin_dir, js_str_at(plugin, "type"));
	call->process = process_start(
		call->loop,
		&(struct process_spec){
			.argv = (const char *const[]){ program, NULL },
			.env = (const char *const *)call->env,
			.input = input,
			.input_len = strlen(input),
			.output_max = CNI_CONFIG_MAX,
			.timeout_ms = CNI_TIMEOUT_MS },
		on_plugin, call);
}

struct cni_call *
cni_start(const struct cni_request *request, cni_done_fn *done, void *arg)
{
	struct cni_call *call = xmalloc0(sizeof(*call));
	const char *path = getenv("PATH");

	call->loop = request->loop;
	call->verb = xstrdup(request->verb);
	call->bin_dir = xstrdup(request->bin_dir);
	call->list = json_deep_copy(request->list);
	call->result = json_deep_copy(request->result);
	if (request->mac != NULL && *request->mac != '\0')
		call->mac = xstrdup(request->mac);
	call->done = done;
	call->arg = arg;
	call->env[0] = xasprintf("CNI_COMMAND=%s", request->verb);
	call->env[1] = xasprintf("CNI_CONTAINERID=%s", request->container_id);
	call->env[2] = xasprintf("CNI_NETNS=%s", request->netns);
	call->env[3] = xasprintf("CNI_IFNAME=%s", request->ifname);
	call->env[4] = xasprintf("CNI_PATH=%s", request->bin_dir);
	call->env[5] = xasprintf("CNI_ARGS=%s%s%s", request->args,
				 call->mac == NULL ? "" : ";MAC=",
				 call->mac == NULL ? "" : call->mac);
	call->env[6] = xasprintf("PATH=%s",
				 path == NULL ? "/usr/sbin:/usr/bin:/sbin:/bin"
					      : path);
	run_next(call);
	return call;
}

void
cni_cancel(struct cni_call *call)
{
	if (call == NULL)
		return;
	process_cancel(call->process);
	call_free(call);
}
