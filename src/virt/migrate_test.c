/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/migrate.h"

#include <libvirt/virterror.h>

#include "base/array.h"
#include "base/test.h"

/* As libvirt 9.0 and QEMU 7.2 were heard to say them. */
static const struct {
	int code;
	const char *text;
	enum virt_fault fault;
} heard[] = {
	{ VIR_ERR_OPERATION_ABORTED,
	  "operation aborted: migration out job: "
	  "canceled by client",
	  VIRT_FAULT_ABORTED },
	{ VIR_ERR_OPERATION_FAILED,
	  "operation failed: migration out job: Unable to write to socket: "
	  "Broken pipe",
	  VIRT_FAULT_LOST },
	{ VIR_ERR_INTERNAL_ERROR,
	  "internal error: qemu unexpectedly closed the monitor",
	  VIRT_FAULT_PEER_QEMU },
	{ VIR_ERR_INTERNAL_ERROR, "internal error: client socket is closed",
	  VIRT_FAULT_LOST },
	{ VIR_ERR_NO_STORAGE_POOL,
	  "Storage pool not found: no storage pool with matching target path",
	  VIRT_FAULT_DISK },
	{ VIR_ERR_INTERNAL_ERROR,
	  "Source and target image have different sizes", VIRT_FAULT_DISK },
	{ VIR_ERR_INTERNAL_ERROR,
	  "internal error: unable to execute QEMU command "
	  "'migrate-set-capabilities': Postcopy is not supported",
	  VIRT_FAULT_POST_COPY_UNSUPPORTED },
	{ VIR_ERR_OPERATION_FAILED, "Failed to connect to '/run/x.sock'",
	  VIRT_FAULT_CONNECT },
	{ VIR_ERR_OPERATION_FAILED,
	  "operation failed: Failed to connect to remote libvirt URI",
	  VIRT_FAULT_CONNECT },
	{ VIR_ERR_CPU_INCOMPATIBLE, "the CPU is incompatible with host CPU",
	  VIRT_FAULT_REFUSED },
	{ VIR_ERR_NO_DOMAIN, "Domain not found", VIRT_FAULT_GONE },
	{ VIR_ERR_INTERNAL_ERROR, "internal error: something else",
	  VIRT_FAULT_OTHER },
	{ VIR_ERR_INTERNAL_ERROR, NULL, VIRT_FAULT_OTHER },
};

static void
test_failures_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heard); i++)
		assert_int_equal(virt_fault_from(heard[i].code, heard[i].text),
				 heard[i].fault);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failures_are_told_apart),
	};

	return cmocka_run_group_tests_name("migrate", tests, NULL, NULL);
}
