/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

/*
 * config - which API server a program talks to, and as whom.
 *
 * From kubeconfig files, as kubectl reads them, or from what every pod has of
 * its service account. Credentials that are files are read again when they
 * change: kube_config_refresh() looks, at most once a second, and keeps what
 * it has while a file cannot be read.
 *
 * Where a kubeconfig asks for something that Ferry does not do (plugins,
 * proxies, impersonation, passwords) loading fails and says so: to go on
 * without would be to talk to the wrong server, or as somebody else.
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "base/opts.h"

struct err;

#define KUBE_CONFIG_FILE_MAX (4UL * 1024 * 1024) /* of each kubeconfig */
#define KUBE_CONFIG_FILES_MAX 32                 /* named in KUBECONFIG */
#define KUBE_CREDENTIAL_MAX (1024UL * 1024)      /* of each certificate, ... */
#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* What a person may say on the command line; NULL where he did not. */
struct kube_flags {
	const char *kubeconfig;
	const char *context;
	const char *ns;
	const char *server;
	const char *token;
};

/* Rows for a program's table of options. */
/* clang-format off */
#define KUBE_FLAGS_OPTS(flags)                                                \
	{ "kubeconfig", "FILE",                                               \
	  "kubeconfig instead of $KUBECONFIG, ~/.kube/config or the "         \
	  "pod's own", OPT_STR, &(flags)->kubeconfig, 0, 0 },                 \
	{ "context", "CONTEXT", "context of the kubeconfig", OPT_STR,            \
	  &(flags)->context, 0, 0 },                                          \
	{ "namespace", "NAMESPACE", "namespace instead of the context's",     \
	  OPT_STR, &(flags)->ns, 0, 0 },                                      \
	{ "server", "URL", "API server instead of the context's", OPT_STR,    \
	  &(flags)->server, 0, 0 },                                           \
	{ "token", "TOKEN", "bearer token instead of the context's user",     \
	  OPT_STR, &(flags)->token, 0, 0 }
/* clang-format on */

/* Where things are looked for; for tests, everybody else gives NULL. */
struct kube_places {
	const char *kubeconfig_env;  /* the value of KUBECONFIG; NULL: unset */
	const char *home;            /* has .kube/config; NULL: none */
	const char *host, *port;     /* KUBERNETES_SERVICE_...; NULL: no pod */
	const char *service_account; /* KUBE_SERVICE_ACCOUNT */
};

/* One credential: a text, and the file it comes from if it does. */
struct kube_credential {
	char *text;     /* NULL: none */
	char *path;     /* NULL: given as data, never changes */
	uint64_t stamp; /* of the file when it was read */
};

struct kube_config {
	char *server;   /* "https://host:6443/prefix", no slash at the end */
	char *ns;       /* never NULL; "default" when nobody says */
	char *context;  /* "" when it comes from the pod */
	char *origin;   /* for messages: files, or "in-cluster" */
	char *tls_name; /* NULL: the server's host */
	bool insecure;  /* whatever the server shows is believed */
	struct kube_credential ca;   /* NULL text: the system's */
	struct kube_credential cert; /* with key, or neither */
	struct kube_credential key;
	struct kube_credential token;
	uint64_t looked_ms; /* when the files were looked at */
	uint64_t version;   /* counts changes of credentials */
};

/*
 * In this order: --kubeconfig (which must exist), the files of KUBECONFIG and,
 * when that is unset, ~/.kube/config (of which any may be missing); when none
 * of these is there, the pod's service account. Of several files the first
 * that has a name wins, and paths are relative to the file they stand in. What
 * flags name overrides the rest.
 *
 * ERR_NOT_FOUND when there is nothing to go by, or what the context names is
 * not there; ERR_INVALID when it is malformed or asks for what Ferry does not
 * do. On success the caller owns *ret; on failure it is not touched.
 */
int kube_config_load(const struct kube_flags *flags,
		     const struct kube_places *places, struct kube_config **ret,
		     struct err *err);

/* The names of all contexts of the files that kube_config_load() would read, in
 * the order of the files; a new reference. */
int kube_config_contexts(const struct kube_flags *flags,
			 const struct kube_places *places, json_t **ret,
			 struct err *err);

/* The pod's own. ERR_NOT_FOUND outside of a pod. */
int kube_config_in_cluster(const struct kube_places *places,
			   struct kube_config **ret, struct err *err);

void kube_config_free(struct kube_config *config);    /* NULL is fine */
void kube_config_unref(struct kube_config **pointer); /* for AUTO() */

/* Reads files again that have changed. True if something is new. A file that
 * cannot be read, and a certificate without its key, change nothing. */
bool kube_config_refresh(struct kube_config *config, uint64_t now_ms);

#endif
