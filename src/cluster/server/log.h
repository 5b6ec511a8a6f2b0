/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_LOG_H
#define CLUSTER_LOG_H

/*
 * log - pods/NAME/log, which the kubelet of the pod's node answers.
 *
 * It is asked over TLS, with the server's certificate for kubelets; its own
 * must be the cluster CA's, unless the client says
 * insecureSkipTLSVerifyBackend. The address is the node's InternalIP, else its
 * ExternalIP or Hostname. What it sends is passed on as it comes, at the pace
 * of the client; an error that it answers becomes a Status with its words.
 *
 * There is no deadline, as a log may be followed for days: the client's going
 * away ends it, and so does logs_end().
 */

struct call;
struct logs;

struct logs *logs_new(void);
/* Cuts those that are under way. */
void logs_end(struct logs *logs);
void logs_free(struct logs *logs); /* the same; NULL is fine */

void log_run(struct call *call);

#endif
