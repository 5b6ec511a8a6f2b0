/* SPDX-License-Identifier: Apache-2.0 */
#include "api/objmeta.h"

#include "api/text.h"
#include "base/err.h"
#include "base/jsat.h"
#include "kube/obj.h"

int
objmeta_decode(const json_t *object, struct objmeta *ret_meta, struct err *err)
{
	/* A name that is still to be made is missing during admission. */
	if (obj_name(object)[0] == '\0' &&
	    js_str_at(object, "metadata.generateName")[0] == '\0')
		return err_set(err, ERR_INVALID, "metadata.name is missing");
	*ret_meta = (struct objmeta){
		.ns = text_new(obj_ns(object)),
		.name = text_new(obj_name(object)),
		.uid = text_new(obj_uid(object)),
		.version = text_new(obj_version(object)),
		.generation = js_int_at(object, "metadata.generation", 0),
		.created_us = obj_created_us(object),
		.deleted_us =
			text_time_at(object, "metadata.deletionTimestamp"),
		.owner_uid = text_at(obj_controller(object), "uid"),
	};
	/* Whatever the time says: it is being deleted. */
	if (obj_is_deleting(object) && ret_meta->deleted_us == 0)
		ret_meta->deleted_us = 1;
	return 0;
}

void
objmeta_done(struct objmeta *meta)
{
	text_free(meta->ns);
	text_free(meta->name);
	text_free(meta->uid);
	text_free(meta->version);
	text_free(meta->owner_uid);
	*meta = (struct objmeta){ .ns = NULL };
}
