/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_HOME_H
#define CLUSTER_HOME_H

/*
 * home - the directory of a cluster: keys, settings, kubeconfig, state.
 *
 *	cluster.json		name and address, as given to init
 *	pki/ca.crt ca.key	signs the server and all clients
 *	pki/apiserver.crt .key	the server's own
 *	pki/apiserver-kubelet-client.crt .key
 *				what the server shows to kubelets
 *	pki/front-proxy-ca.crt .key, front-proxy-client.crt .key
 *				what the server shows to aggregated servers
 *	pki/sa.key		signs the tokens of ServiceAccounts
 *	admin.kubeconfig	user kubernetes-admin, group system:masters
 *	serving.json		the port that the server has got
 *	state.db		see store/store.h
 *
 * Private keys and the kubeconfig are for their owner alone.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

#define HOME_PORT_DEFAULT 6443
/* The name in the certificate that aggregated servers are shown. */
#define HOME_FRONT_PROXY "front-proxy-client"

struct home_settings {
	const char *name; /* of the cluster, in kubeconfigs */
	const char
		*address; /* where clients find it: an IP address or a name */
	uint64_t port;
	/* Further names and addresses of the server's certificate, ended by
	 * NULL; NULL: none. */
	const char *const *sans;
};

/*
 * Makes dir and everything in it but the state. Refuses a directory that has a
 * cluster already.
 */
int home_init(const char *dir, const struct home_settings *settings,
	      struct err *err);

/* What serving needs, read once. */
struct home {
	char *dir;
	char *name;
	char *address;
	uint64_t port;
	char *ca_cert, *ca_key;
	char *server_cert, *server_key;
	char *kubelet_cert, *kubelet_key;
	char *proxy_ca, *proxy_cert, *proxy_key;
	char *token_key;
};

int home_open(const char *dir, struct home *ret, struct err *err);
void home_done(struct home *home); /* wipes the keys */

struct home_user {
	const char *name;
	const char *const *groups; /* ended by NULL */
	unsigned days;             /* until the certificate expires */
};

/*
 * A kubeconfig with a new client certificate for the user, for the server at
 * address:port. The caller owns *ret_text.
 */
int home_kubeconfig(const struct home *home, const struct home_user *user,
		    char **ret_text, struct err *err);

/*
 * To be called when home->port is the port the server has got: notes it for
 * home_find_server(), and writes admin.kubeconfig anew.
 */
int home_record_server(const struct home *home, struct err *err);

/* Sets home->port to where the server is, or was when it last ran. */
int home_find_server(struct home *home, struct err *err);

#endif
