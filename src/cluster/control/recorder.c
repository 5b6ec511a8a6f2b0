/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/recorder.h"

#include "base/str.h"
#include "cluster/control/api.h"

static void
write_event(const struct events_write *write, void *arg)
{
	api_send(arg, &(struct api_call){
			      .method = write->method,
			      .path = write->path,
			      .body = json_incref(write->body),
			      .content_type = str_equal(write->method, "PATCH")
						      ? API_MERGE
						      : NULL,
		      });
}

struct events *
recorder_new(struct loop *loop, struct api *api, const char *component)
{
	struct events_config config = { .loop = loop,
					.component = component,
					.write = write_event,
					.arg = api };

	return events_new(&config);
}
