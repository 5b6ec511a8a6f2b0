/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_NFT_H
#define NET_NFT_H

/*
 * nft - rules of nftables, as text.
 *
 * All commands of a text are one transaction: the kernel has all of them or
 * none. To replace a table whatever was in it:
 *
 *	table inet ferry
 *	delete table inet ferry
 *	table inet ferry { ... }
 *
 * The text must not be made of what others wrote without a check: it is a
 * language. Threading: any thread.
 */

struct err;

/* netns_fd as in netns_run(). */
int nft_run(int netns_fd, const char *text, struct err *err);

/* What the text prints ("list table inet ferry"); the caller frees. */
int nft_query(int netns_fd, const char *text, char **ret_output,
	      struct err *err);

#endif
