/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_CELL_INTERNAL_H
#define CLUSTER_KINDS_CELL_INTERNAL_H

/*
 * cell_internal - the computations of columns, for the files named cell*.c.
 */

#include "base/js.h"
#include "base/buf.h"
#include "cluster/kinds/kind.h"

#define CELL_TEXT_MAX 65536 /* longer texts are cut */
#define CELL_NONE "<none>"

/* The text in out (emptied), or otherwise if there is none. */
json_t *cell_from_buf(struct buf *out, const char *otherwise);
/* Appends ", " or the like, if there is something before it, and the text. */
void cell_join(struct buf *out, const char *between, const char *text);
/* "a=b,c=d" in order of the names. */
void cell_join_labels(struct buf *out, const json_t *labels);
/* How long before now_s the time was: "5m"; "<unknown>". */
json_t *cell_age(const char *time, int64_t now_s);

/* cell_pod.c, cell_node.c, cell_other.c */
cell_fn cell_pod_ready, cell_pod_status, cell_pod_restarts, cell_pod_gates;
cell_fn cell_node_status, cell_node_roles, cell_node_internal_ip,
	cell_node_external_ip;
cell_fn cell_event_last, cell_event_first, cell_event_object, cell_event_source,
	cell_event_message, cell_event_count;
cell_fn cell_service_external, cell_service_ports, cell_service_selector,
	cell_endpoints;
cell_fn cell_spec_modes, cell_status_modes, cell_phase, cell_volume_claim;
cell_fn cell_quota_requests, cell_quota_limits;
cell_fn cell_role_ref, cell_subjects_users, cell_subjects_groups,
	cell_subjects_accounts;
cell_fn cell_apiservice_service, cell_apiservice_available;
cell_fn cell_count_data, cell_count_secrets, cell_count_webhooks;
cell_fn cell_created, cell_pod_selector, cell_storageclass_name;

#endif
