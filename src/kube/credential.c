/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"

/* Never 0 for a file that is there: what replaces a file differs in at least
 * one of these, unless it was made to look the same. */
static uint64_t
stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return 0;
	return ((uint64_t)st.st_mtim.tv_sec * 1000000007U +
		(uint64_t)st.st_mtim.tv_nsec * 31U +
		(uint64_t)st.st_ino * 65599U + (uint64_t)st.st_size) |
	       1;
}

static void
wipe(char *text)
{
	if (text == NULL)
		return;
	explicit_bzero(text, strlen(text));
	free(text);
}

static char *
without_line_ends(const char *text)
{
	char *copy = xmalloc0(strlen(text) + 1);
	size_t len = 0;

	for (; *text != '\0'; text++) {
		if (*text != '\n' && *text != '\r')
			copy[len++] = *text;
	}
	return copy;
}

int
credential_from_data(struct kube_credential *cred, const char *base64,
		     const char *what, struct err *err)
{
	AUTO(free_ptr) char *text = without_line_ends(base64);
	uint8_t *data;
	size_t len;

	if (base64_decode(BASE64_STD, text, strlen(text), &data, &len, err) ==
	    -1)
		return err_prefix(err, "%s", what);
	if (len == 0 || memchr(data, '\0', len) != NULL) {
		free(data);
		return err_set(err, ERR_INVALID, "%s is no PEM text", what);
	}
	credential_done(cred);
	cred->text = (char *)data;
	return 0;
}

/* Without the blanks around it. */
static void
trim(char *text, size_t len)
{
	size_t start = 0;

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	while (start < len && isspace((unsigned char)text[start]))
		start++;
	memmove(text, text + start, len - start);
	text[len - start] = '\0';
}

static int
read_text(const char *path, bool token, char **ret_text, struct err *err)
{
	char *text;
	size_t len;

	if (path_read_file(path, KUBE_CREDENTIAL_MAX, &text, &len, err) == -1)
		return -1;
	if (token)
		trim(text, len);
	if (*text == '\0') {
		free(text);
		return err_set(err, ERR_INVALID, "'%s' is empty", path);
	}
	*ret_text = text;
	return 0;
}

int
credential_from_file(struct kube_credential *cred, char *path, bool token,
		     struct err *err)
{
	/* Before reading: a change meanwhile is then seen later. */
	uint64_t stamp = stamp_of(path);
	char *text;

	if (read_text(path, token, &text, err) == -1)
		return -1;
	credential_done(cred);
	*cred = (struct kube_credential){ text, path, stamp };
	return 0;
}

bool
credential_is_stale(const struct kube_credential *cred)
{
	return cred->path != NULL && stamp_of(cred->path) != cred->stamp;
}

int
credential_reread(struct kube_credential *cred, bool token, struct err *err)
{
	uint64_t stamp = stamp_of(cred->path);
	char *text;

	if (read_text(cred->path, token, &text, err) == -1)
		return -1;
	wipe(cred->text);
	cred->text = text;
	cred->stamp = stamp;
	return 0;
}

void
credential_done(struct kube_credential *cred)
{
	wipe(cred->text);
	free(cred->path);
	*cred = (struct kube_credential){ 0 };
}
