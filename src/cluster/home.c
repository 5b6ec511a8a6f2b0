/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cluster/home.h"
#include "meta/yaml.h"
#include "tls/pki.h"

#define CA_DAYS 3650
#define SERVER_DAYS 3650
#define ADMIN_DAYS 3650
#define FILE_MAX (256UL * 1024)
#define SANS_MAX 64

#define SETTINGS_FILE "cluster.json"
#define ADMIN_FILE "admin.kubeconfig"
#define SERVING_FILE "serving.json"

static int
make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0700) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", path);
	return 0;
}

static int
open_dir(const char *dir, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *real = realpath(dir, NULL);

	if (real == NULL)
		return err_errno(err, "cannot open '%s'", dir);
	return path_open_dir(real, ret_fd, err);
}

static int
write_text(int dir_fd, const char *name, const char *text, mode_t mode,
	   struct err *err)
{
	return path_write_file_at(dir_fd, name, text, strlen(text), mode, err);
}

/* The key first: a certificate without its key would look complete. */
static int
write_pair(int dir_fd, const char *name, const struct tls_pki_pem *pem,
	   struct err *err)
{
	AUTO(free_ptr) char *key = xasprintf("%s.key", name);
	AUTO(free_ptr) char *cert = xasprintf("%s.crt", name);

	if (write_text(dir_fd, key, pem->key, 0600, err) == -1)
		return -1;
	if (pem->cert == NULL)
		return 0;
	return write_text(dir_fd, cert, pem->cert, 0644, err);
}

static int
make_server_cert(int dir_fd, const struct tls_pki_pem *ca,
		 const struct home_settings *settings, struct err *err)
{
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	const char *names[SANS_MAX + 9] = { "localhost",
					    "127.0.0.1",
					    "::1",
					    "kubernetes",
					    "kubernetes.default",
					    "kubernetes.default.svc",
					    settings->address };
	size_t n = 7;
	const struct tls_pki_subject subject = {
		.common_name = "kube-apiserver",
		.names = names,
		.validity = tls_pki_days(SERVER_DAYS),
		.usage = TLS_PKI_SERVER,
	};

	for (size_t i = 0; settings->sans != NULL && i < SANS_MAX &&
			   settings->sans[i] != NULL;
	     i++)
		names[n++] = settings->sans[i];
	names[n] = NULL;
	if (tls_pki_make_cert(ca, &subject, &pem, err) == -1)
		return -1;
	return write_pair(dir_fd, "apiserver", &pem, err);
}

static int
make_kubelet_client(int dir_fd, const struct tls_pki_pem *ca, struct err *err)
{
	static const char *const groups[] = { "system:masters", NULL };
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	const struct tls_pki_subject subject = {
		.common_name = "kube-apiserver-kubelet-client",
		.organizations = groups,
		.validity = tls_pki_days(SERVER_DAYS),
		.usage = TLS_PKI_CLIENT,
	};

	if (tls_pki_make_cert(ca, &subject, &pem, err) == -1)
		return -1;
	return write_pair(dir_fd, "apiserver-kubelet-client", &pem, err);
}

static int
make_front_proxy(int dir_fd, struct err *err)
{
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	const struct tls_pki_validity validity = tls_pki_days(CA_DAYS);
	const struct tls_pki_subject subject = {
		.common_name = HOME_FRONT_PROXY,
		.validity = validity,
		.usage = TLS_PKI_CLIENT,
	};

	if (tls_pki_make_ca("front-proxy-ca", &validity, &ca, err) == -1 ||
	    write_pair(dir_fd, "front-proxy-ca", &ca, err) == -1 ||
	    tls_pki_make_cert(&ca, &subject, &pem, err) == -1)
		return -1;
	return write_pair(dir_fd, "front-proxy-client", &pem, err);
}

static int
make_keys(int dir_fd, const struct home_settings *settings, struct err *err)
{
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(tls_pki_pem_done) struct tls_pki_pem tokens = { 0 };
	const struct tls_pki_validity validity = tls_pki_days(CA_DAYS);

	if (tls_pki_make_ca("kubernetes", &validity, &ca, err) == -1 ||
	    write_pair(dir_fd, "ca", &ca, err) == -1 ||
	    make_server_cert(dir_fd, &ca, settings, err) == -1 ||
	    make_kubelet_client(dir_fd, &ca, err) == -1 ||
	    make_front_proxy(dir_fd, err) == -1 ||
	    tls_pki_make_key(&tokens, err) == -1)
		return -1;
	return write_pair(dir_fd, "sa", &tokens, err);
}

static int
write_settings(int dir_fd, const struct home_settings *settings,
	       struct err *err)
{
	json_t *json = json_pack("{s:i, s:s, s:s, s:I}", "version", 1, "name",
				 settings->name, "address", settings->address,
				 "port", (json_int_t)settings->port);
	AUTO(free_ptr) char *text = json_dumps(json, JSON_INDENT(2));

	json_decref(json);
	return write_text(dir_fd, SETTINGS_FILE, text, 0644, err);
}

static int
read_file(const struct home *home, const char *name, char **ret,
	  struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", home->dir, name);
	size_t len;

	return path_read_file(path, FILE_MAX, ret, &len, err);
}

static int
read_settings(struct home *home, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *json = NULL;
	const char *name, *address;

	if (read_file(home, SETTINGS_FILE, &text, err) == -1) {
		if (err->kind == ERR_NOT_FOUND)
			return err_set(err, ERR_NOT_FOUND,
				       "there is no cluster in '%s'; make one "
				       "with: ferry-cluster init --dir %s",
				       home->dir, home->dir);
		return -1;
	}
	json = js_parse(text, strlen(text), err);
	if (json == NULL || js_get_str(json, "name", &name, err) == -1 ||
	    js_get_str(json, "address", &address, err) == -1 ||
	    js_get_u64(json, "port", 0, UINT16_MAX, &home->port, err) == -1)
		return err_prefix(err, "'%s/" SETTINGS_FILE "'", home->dir);
	home->name = xstrdup(name);
	home->address = xstrdup(address);
	return 0;
}

int
home_open(const char *dir, struct home *ret, struct err *err)
{
	struct home home = { .dir = xstrdup(dir) };
	const struct {
		const char *file;
		char **text;
	} files[] = {
		{ "pki/ca.crt", &home.ca_cert },
		{ "pki/ca.key", &home.ca_key },
		{ "pki/apiserver.crt", &home.server_cert },
		{ "pki/apiserver.key", &home.server_key },
		{ "pki/apiserver-kubelet-client.crt", &home.kubelet_cert },
		{ "pki/apiserver-kubelet-client.key", &home.kubelet_key },
		{ "pki/front-proxy-ca.crt", &home.proxy_ca },
		{ "pki/front-proxy-client.crt", &home.proxy_cert },
		{ "pki/front-proxy-client.key", &home.proxy_key },
		{ "pki/sa.key", &home.token_key },
	};

	if (read_settings(&home, err) == -1)
		goto fail;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (read_file(&home, files[i].file, files[i].text, err) == -1)
			goto fail;
	*ret = home;
	return 0;
fail:
	home_done(&home);
	return -1;
}

static void
wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void
home_done(struct home *home)
{
	free(home->dir);
	free(home->name);
	free(home->address);
	free(home->ca_cert);
	wipe(home->ca_key);
	free(home->server_cert);
	wipe(home->server_key);
	free(home->kubelet_cert);
	wipe(home->kubelet_key);
	free(home->proxy_ca);
	free(home->proxy_cert);
	wipe(home->proxy_key);
	wipe(home->token_key);
	*home = (struct home){ 0 };
}

static json_t *
encoded(const char *pem)
{
	char *text = base64_encode(BASE64_STD, pem, strlen(pem));
	json_t *value = json_string(text);

	free(text);
	return value;
}

/* Kubernetes writes an IPv6 address in brackets. */
static char *
server_url(const struct home *home)
{
	bool brackets = strchr(home->address, ':') != NULL;

	return xasprintf("https://%s%s%s:%" PRIu64, brackets ? "[" : "",
			 home->address, brackets ? "]" : "", home->port);
}

static json_t *
kubeconfig_json(const struct home *home, const char *user,
		const struct tls_pki_pem *pem)
{
	AUTO(free_ptr) char *url = server_url(home);
	AUTO(free_ptr) char *context = xasprintf("%s@%s", user, home->name);

	return json_pack(
		"{s:s, s:s, s:[{s:s, s:{s:s, s:o}}], s:[{s:s, s:{s:o, s:o}}],"
		" s:[{s:s, s:{s:s, s:s}}], s:s, s:{}}",
		"apiVersion", "v1", "kind", "Config", "clusters", "name",
		home->name, "cluster", "server", url,
		"certificate-authority-data", encoded(home->ca_cert), "users",
		"name", user, "user", "client-certificate-data",
		encoded(pem->cert), "client-key-data", encoded(pem->key),
		"contexts", "name", context, "context", "cluster", home->name,
		"user", user, "current-context", context, "preferences");
}

int
home_kubeconfig(const struct home *home, const struct home_user *user,
		char **ret_text, struct err *err)
{
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	struct tls_pki_pem ca = {
		.cert = home->ca_cert,
		.cert_len = strlen(home->ca_cert),
		.key = home->ca_key,
		.key_len = strlen(home->ca_key),
	};
	const struct tls_pki_subject subject = {
		.common_name = user->name,
		.organizations = user->groups,
		.validity = tls_pki_days(user->days),
		.usage = TLS_PKI_CLIENT,
	};
	json_t *json;

	if (tls_pki_make_cert(&ca, &subject, &pem, err) == -1)
		return -1;
	json = kubeconfig_json(home, user->name, &pem);
	*ret_text = yaml_from_json(json);
	json_decref(json);
	return 0;
}

static int
write_admin(const struct home *home, struct err *err)
{
	static const char *const groups[] = { "system:masters", NULL };
	const struct home_user admin = { .name = "kubernetes-admin",
					 .groups = groups,
					 .days = ADMIN_DAYS };
	AUTO(close_fd) int dir_fd = -1;
	char *text;
	int r;

	if (open_dir(home->dir, &dir_fd, err) == -1 ||
	    home_kubeconfig(home, &admin, &text, err) == -1)
		return -1;
	r = write_text(dir_fd, ADMIN_FILE, text, 0600, err);
	wipe(text);
	return r;
}

int
home_init(const char *dir, const struct home_settings *settings,
	  struct err *err)
{
	AUTO(free_ptr) char *pki = xasprintf("%s/pki", dir);
	AUTO(free_ptr) char *mark = xasprintf("%s/" SETTINGS_FILE, dir);
	AUTO(close_fd) int dir_fd = -1;
	AUTO(close_fd) int pki_fd = -1;
	struct home home;
	int r;

	if (access(mark, F_OK) == 0)
		return err_set(err, ERR_EXISTS,
			       "'%s' has a cluster already; its keys are kept",
			       dir);
	/* The settings last: without them there is no cluster yet. */
	if (make_dir(dir, err) == -1 || make_dir(pki, err) == -1 ||
	    open_dir(dir, &dir_fd, err) == -1 ||
	    open_dir(pki, &pki_fd, err) == -1 ||
	    make_keys(pki_fd, settings, err) == -1 ||
	    write_settings(dir_fd, settings, err) == -1 ||
	    home_open(dir, &home, err) == -1)
		return -1;
	r = write_admin(&home, err);
	home_done(&home);
	return r;
}

int
home_record_server(const struct home *home, struct err *err)
{
	AUTO(free_ptr)
	char *text = xasprintf("{\"port\":%" PRIu64 "}\n", home->port);
	AUTO(close_fd) int dir_fd = -1;

	if (open_dir(home->dir, &dir_fd, err) == -1 ||
	    write_text(dir_fd, SERVING_FILE, text, 0644, err) == -1)
		return -1;
	return write_admin(home, err);
}

int
home_find_server(struct home *home, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *json = NULL;

	if (read_file(home, SERVING_FILE, &text, err) == -1)
		return err->kind == ERR_NOT_FOUND ? 0 : -1;
	json = js_parse(text, strlen(text), err);
	if (json == NULL ||
	    js_get_u64(json, "port", 1, UINT16_MAX, &home->port, err) == -1)
		return err_prefix(err, "'%s/" SERVING_FILE "'", home->dir);
	return 0;
}
