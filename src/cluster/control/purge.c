/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/purge.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/task.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

static void
delete_object(struct task *task, const struct kind *kind,
	      const struct object *obj)
{
	AUTO(free_ptr)
	char *path = api_path(kind, obj->namespace_, obj->name);

	task_send(task,
		  &(struct api_call){
			  .method = "DELETE",
			  .path = path,
			  .body = json_pack("{s:s,s:s,s:{s:s},s:s}", "kind",
					    "DeleteOptions", "apiVersion", "v1",
					    "preconditions", "uid", obj->uid,
					    "propagationPolicy", "Background"),
		  });
}

/* One look behind after, which moves on; how many were told to go. */
static size_t
purge_some(struct task *task, const struct kind *kind, const char *ns,
	   size_t max, char **after)
{
	struct object **list;
	size_t count = store_list(kind->collection, ns, *after, max, &list);
	size_t sent = 0;

	free(*after);
	*after = count < max ? NULL : object_key(list[count - 1]);
	for (size_t i = 0; i < count; i++) {
		if (list[i]->deleting)
			continue;
		delete_object(task, kind, list[i]);
		sent++;
	}
	objects_unref(list, count);
	return sent;
}

size_t
purge_kind(struct task *task, const struct kind *kind, const char *ns,
	   size_t max, char **after)
{
	size_t sent = 0;

	/* As many looks as it takes, each for what is missing: of those that
	 * are there, only the ones looked at are listed. */
	do {
		sent += purge_some(task, kind, ns, max - sent, after);
	} while (sent < max && *after != NULL);
	return sent;
}
