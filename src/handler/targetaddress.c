/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/targetaddress.h"

#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"

#define ANY_IPV4 "0.0.0.0"
#define ANY_IPV6 "::"

json_t *
target_address(const json_t *result, const char *own, struct err *err)
{
	const char *address = js_str_at(result, "address");

	if (str_equal(address, ANY_IPV4) || str_equal(address, ANY_IPV6)) {
		if (own == NULL) {
			(void)err_set(err, ERR_INVALID,
				      "ferry-proxy listens on every address; "
				      "say which one others reach it by "
				      "(--address, or its --bind)");
			return NULL;
		}
		address = own;
	}
	return json_pack("{s:s, s:O}", "address", address, "ports",
			 js_obj_at(result, "ports"));
}
