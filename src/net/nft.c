/* SPDX-License-Identifier: Apache-2.0 */
#include "net/nft.h"

#include <nftables/libnftables.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/netns.h"

struct run {
	const char *text;
	char **ret_output; /* NULL: not wanted */
};

static void
free_context(struct nft_ctx **context)
{
	if (*context != NULL)
		nft_ctx_free(*context);
}

/* The library opens its sockets as it needs them: all of it happens here, in
 * the right namespace. */
static int
run_alone(void *arg, struct err *err)
{
	const struct run *run = arg;
	AUTO(free_context)
	struct nft_ctx *context = nft_ctx_new(NFT_CTX_DEFAULT);
	const char *said;

	if (context == NULL || nft_ctx_buffer_error(context) != 0 ||
	    nft_ctx_buffer_output(context) != 0)
		return err_set(err, ERR_INTERNAL, "cannot prepare nftables");
	nft_ctx_output_set_flags(context, NFT_CTX_OUTPUT_NUMERIC_ALL);
	if (nft_run_cmd_from_buffer(context, run->text) != 0) {
		said = nft_ctx_get_error_buffer(context);
		return err_set(err,
			       strstr(said, "No such file") ? ERR_NOT_FOUND
							    : ERR_INTERNAL,
			       "nftables: %.*s", (int)strcspn(said, "\n"),
			       said);
	}
	if (run->ret_output != NULL)
		*run->ret_output = xstrdup(nft_ctx_get_output_buffer(context));
	return 0;
}

/* The library keeps names of interfaces for the whole process. */
static int
run_text(void *arg, struct err *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int result;

	(void)pthread_mutex_lock(&lock);
	result = run_alone(arg, err);
	(void)pthread_mutex_unlock(&lock);
	return result;
}

int
nft_run(int netns_fd, const char *text, struct err *err)
{
	struct run run = { text, NULL };

	return netns_run(netns_fd, run_text, &run, err);
}

int
nft_query(int netns_fd, const char *text, char **ret_output, struct err *err)
{
	struct run run = { text, ret_output };

	return netns_run(netns_fd, run_text, &run, err);
}
