/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A kubeconfig is read or refused, with a reason; what was read has a server
 * and a namespace, and never half of a certificate. Files that it names are not
 * there to be found.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kube_places nowhere;
	struct kube_flags flags = { 0 };
	struct kube_config *config = NULL;
	struct err err = { 0 };
	char path[64];
	int fd = memfd_create("kubeconfig", 0);

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	flags.kubeconfig = path;
	if (kube_config_load(&flags, &nowhere, &config, &err) == -1) {
		assert(config == NULL && err.text[0] != '\0');
	} else {
		assert(strncmp(config->server, "http", 4) == 0);
		assert(config->ns[0] != '\0');
		assert((config->cert.text == NULL) ==
		       (config->key.text == NULL));
		assert(!config->insecure || config->ca.text == NULL);
		(void)kube_config_refresh(config, 1000);
	}
	kube_config_free(config);
	(void)close(fd);
	return 0;
}
