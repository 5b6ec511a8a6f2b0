/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "virt/internal.h"

#define MESSAGE_SIZE 200 /* of libvirt's, in an error */
#define MESSAGE_HEAD 60

/* Finds connections dead whose libvirtd hangs: 5 s, 6 times. */
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_COUNT 6

/* What a code of libvirt means to a caller; the rest is ERR_INTERNAL. */
static const struct {
	int code;
	enum err_kind kind;
} kinds[] = {
	{ VIR_ERR_NO_DOMAIN, ERR_NOT_FOUND },
	{ VIR_ERR_DOM_EXIST, ERR_EXISTS },
	{ VIR_ERR_OPERATION_INVALID, ERR_CONFLICT },
	{ VIR_ERR_OPERATION_TIMEOUT, ERR_TIMEOUT },
	{ VIR_ERR_AGENT_UNRESPONSIVE, ERR_UNAVAILABLE },
	{ VIR_ERR_NO_CONNECT, ERR_UNAVAILABLE },
	{ VIR_ERR_RPC, ERR_UNAVAILABLE },
	{ VIR_ERR_CONFIG_UNSUPPORTED, ERR_INVALID },
	{ VIR_ERR_XML_ERROR, ERR_INVALID },
	{ VIR_ERR_XML_INVALID_SCHEMA, ERR_INVALID },
	{ VIR_ERR_OPERATION_DENIED, ERR_DENIED },
	{ VIR_ERR_AUTH_FAILED, ERR_DENIED },
};

static void
say_nothing(void *arg, virErrorPtr error)
{
	(void)arg;
	(void)error;
}

void
virt_init(void)
{
	(void)virInitialize();
	virSetErrorFunc(NULL, say_nothing);
}

static enum err_kind
kind_of(const virError *error)
{
	for (size_t i = 0; error != NULL && i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].code == error->code)
			return kinds[i].kind;
	}
	/* A socket that nobody listens on has no code of its own. */
	if (error != NULL && error->code == VIR_ERR_SYSTEM_ERROR &&
	    error->domain == VIR_FROM_RPC)
		return ERR_UNAVAILABLE;
	return ERR_INTERNAL;
}

/* libvirt puts whole command lines before what matters: the middle goes. */
static void
shorten(const char *message, char *text, size_t size)
{
	size_t len = strlen(message);

	if (len < size)
		(void)snprintf(text, size, "%s", message);
	else
		(void)snprintf(text, size, "%.*s ... %s", MESSAGE_HEAD, message,
			       message + len -
				       (size - MESSAGE_HEAD - sizeof(" ... ")));
}

int(virt_fail)(struct err *err, const char *fmt, ...)
{
	const virError *error = virGetLastError();
	char text[sizeof(err->text)];
	char message[MESSAGE_SIZE] = "libvirt does not say why";
	va_list ap;

	va_start(ap, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is. */
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (error != NULL && error->message != NULL)
		shorten(error->message, message, sizeof(message));
	return err_set(err, kind_of(error), "%s: %s", text, message);
}

void
virt_free_domain(virDomainPtr *domain)
{
	if (*domain != NULL)
		(void)virDomainFree(*domain);
	*domain = NULL;
}

int
virt_lookup(struct virt_conn *conn, const char *name, virDomainPtr *ret,
	    struct err *err)
{
	*ret = virDomainLookupByName(conn->ptr, name);
	if (*ret == NULL)
		return virt_fail(err, "cannot find the domain '%s'", name);
	return 0;
}

int
virt_conn_open(const char *uri, struct virt_conn **ret_conn, struct err *err)
{
	virConnectPtr ptr = virConnectOpen(uri);

	if (ptr == NULL)
		return virt_fail(err, "cannot connect to libvirt");
	*ret_conn = xmalloc0(sizeof(**ret_conn));
	(*ret_conn)->ptr = ptr;
	return 0;
}

void
virt_conn_keep_alive(struct virt_conn *conn)
{
	(void)virConnectSetKeepAlive(conn->ptr, KEEPALIVE_INTERVAL_S,
				     KEEPALIVE_COUNT);
}

void
virt_conn_close(struct virt_conn *conn)
{
	if (conn == NULL)
		return;
	(void)virConnectClose(conn->ptr);
	free(conn);
}

void
virt_conn_done(struct virt_conn **conn)
{
	virt_conn_close(*conn);
	*conn = NULL;
}

bool
virt_conn_alive(struct virt_conn *conn)
{
	return virConnectIsAlive(conn->ptr) == 1;
}

static void
version_text(unsigned long version, char text[VIRT_VERSION_SIZE])
{
	(void)snprintf(text, VIRT_VERSION_SIZE, "%lu.%lu.%lu",
		       version / 1000000, version / 1000 % 1000,
		       version % 1000);
}

int
virt_conn_versions(struct virt_conn *conn, char libvirt[VIRT_VERSION_SIZE],
		   char qemu[VIRT_VERSION_SIZE], struct err *err)
{
	unsigned long lib, hypervisor;

	if (virConnectGetLibVersion(conn->ptr, &lib) == -1 ||
	    virConnectGetVersion(conn->ptr, &hypervisor) == -1)
		return virt_fail(err, "cannot read the versions of libvirt");
	version_text(lib, libvirt);
	version_text(hypervisor, qemu);
	return 0;
}

char *
virt_conn_capabilities(struct virt_conn *conn, struct err *err)
{
	char *xml = virConnectGetCapabilities(conn->ptr);

	if (xml == NULL)
		(void)virt_fail(err, "cannot read the host's capabilities");
	return xml;
}

char *
virt_conn_domain_capabilities(struct virt_conn *conn, const char *type,
			      struct err *err)
{
	char *xml = virConnectGetDomainCapabilities(conn->ptr, NULL, NULL, NULL,
						    type, 0);

	if (xml == NULL)
		(void)virt_fail(err, "cannot read what domains of '%s' can be",
				type);
	return xml;
}
