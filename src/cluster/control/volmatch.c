/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/volmatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/control/view.h"
#include "meta/selector.h"
#include "meta/status.h"

bool
volmatch_is_for(const struct volume *volume, const struct claim *claim)
{
	return strcmp(volume->claim_key, claim->key) == 0 &&
	       (*volume->claim_uid == '\0' ||
		strcmp(volume->claim_uid, claim->uid) == 0);
}

static bool
labels_suit(const struct volume *volume, const struct claim *claim)
{
	struct status st = { 0 };
	AUTO(selector_unref) struct selector *sel = NULL;

	if (claim->selector == NULL)
		return true;
	sel = selector_from_json(claim->selector, &st);
	status_done(&st);
	return sel != NULL && selector_matches(sel, volume->labels);
}

bool
volmatch_suits(const struct volume *volume, const struct claim *claim)
{
	if (volume->deleting || strcmp(volume->mode, claim->mode) != 0 ||
	    (volume->modes & claim->modes) != claim->modes ||
	    volume->capacity < claim->request)
		return false;
	if (volmatch_is_for(volume, claim))
		return true;
	return *volume->claim_key == '\0' &&
	       strcmp(volume->phase, "Available") == 0 &&
	       strcmp(volume->class_name, claim->class_name) == 0 &&
	       labels_suit(volume, claim);
}

struct ranked {
	const struct volume *volume;
	bool reserved;
};

static int
compare(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;

	if (x->reserved != y->reserved)
		return x->reserved ? -1 : 1;
	if (x->volume->capacity != y->volume->capacity)
		return x->volume->capacity < y->volume->capacity ? -1 : 1;
	return strcmp(x->volume->name, y->volume->name);
}

size_t
volmatch_find(const struct view *view, const struct claim *claim,
	      const struct volume ***ret_list)
{
	const struct storage_class *sc = view_class(view, claim->class_name);
	struct ranked *ranked = NULL;
	size_t len = 0;
	size_t size = 0;

	*ret_list = NULL;
	for (const struct volume *v = sc == NULL ? NULL : sc->volumes;
	     v != NULL; v = v->next) {
		if (!volmatch_suits(v, claim))
			continue;
		if (len == size) {
			size = size == 0 ? 8 : size * 2;
			ranked = xrealloc(ranked, size * sizeof(*ranked));
		}
		ranked[len++] = (struct ranked){
			.volume = v,
			.reserved = volmatch_is_for(v, claim),
		};
	}
	if (len == 0)
		return 0;
	qsort(ranked, len, sizeof(*ranked), compare);
	*ret_list = xcalloc(len, sizeof(struct volume *));
	for (size_t i = 0; i < len; i++)
		(*ret_list)[i] = ranked[i].volume;
	free(ranked);
	return len;
}
