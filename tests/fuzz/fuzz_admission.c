/* SPDX-License-Identifier: Apache-2.0 */

/*
 * AdmissionReviews, as whoever reaches ferry-api's port may send them: decoded,
 * defaulted, compared, checked and answered, whatever they are about.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/check.h"
#include "api/config.h"
#include "api/defaults.h"
#include "api/vmim.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/patch.h"
#include "meta/status.h"
#include "webhook/diff.h"
#include "webhook/review.h"
#include "webhook/who.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char uuid[] = "3fe3c9b4-1c4c-4a39-8f3c-3a1f2b9f2d55";

/* What a mutating hook does: the patch makes of the object what it says. */
static void
mutate(const struct review *review, const struct kubevirt_config *config)
{
	AUTO(js_unref) json_t *after = json_deep_copy(review->object);
	AUTO(js_unref) json_t *patch = NULL;
	AUTO(js_unref) json_t *made = NULL;
	AUTO(status_done) struct status st = STATUS_INIT;

	vmim_set_defaults(after);
	vm_set_defaults(after, config);
	vmi_set_defaults(after, config, uuid);
	patch = diff_patch(review->object, after);
	made = patch_json(review->object, patch, &st);
	if (made != NULL && !json_equal(made, after))
		abort();
	json_decref(review_allow(review, patch));
}

/* What a validating hook does. */
static void
validate(const struct review *review, const struct kubevirt_config *config)
{
	const struct check_user user = who_check_user(review->user, "kubevirt");
	AUTO(status_done) struct status st = STATUS_INIT;
	struct err err;
	AUTO(vmim_unref) struct vmim *vmim = vmim_decode(review->object, &err);

	(void)vmi_check_create(review->object, &user, &st);
	status_done(&st);
	(void)policy_check(review->old_object, review->object, config, &st);
	status_done(&st);
	if (vmim != NULL)
		(void)vmim_check_spec(vmim, &user, &st);
	status_done(&st);
	if (review->old_object != NULL) {
		(void)vmi_check_update(review->old_object, review->object,
				       &user, 1, &st);
		status_done(&st);
		(void)vmim_check_update(review->old_object, review->object,
					&st);
		status_done(&st);
		(void)vmi_check_node_update(
			review->old_object, review->object,
			review_extra(review, WHO_EXTRA_NODE), &st);
	}
	if (st.code != 0)
		json_decref(review_deny(review, &st));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(review_done) struct review review = { 0 };
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);

	if (review_decode((const char *)data, size, &review, &err) == -1 ||
	    review.object == NULL)
		return 0;
	mutate(&review, config);
	validate(&review, config);
	return 0;
}
