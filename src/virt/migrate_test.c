/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/migrate.h"

#include <libvirt/virterror.h>

#include "base/array.h"
#include "base/test.h"

/* As libvirt 9.0 and QEMU 7.2 were heard to say them. */
static const struct {
	const char *text;
	int code;
	enum virt_fault fault;
} heard[] = {
	{ "operation aborted: migration out job: "
	  "canceled by client",
	  VIR_ERR_OPERATION_ABORTED, VIRT_FAULT_ABORTED },
	{ "operation failed: migration out job: Unable to write to socket: "
	  "Broken pipe",
	  VIR_ERR_OPERATION_FAILED, VIRT_FAULT_LOST },
	{ "internal error: qemu unexpectedly closed the monitor",
	  VIR_ERR_INTERNAL_ERROR, VIRT_FAULT_PEER_QEMU },
	{ "internal error: client socket is closed", VIR_ERR_INTERNAL_ERROR,
	  VIRT_FAULT_SILENT },
	{ "End of file while reading data: Input/output error",
	  VIR_ERR_SYSTEM_ERROR, VIRT_FAULT_SILENT },
	{ "Cannot recv data: Connection reset by peer", VIR_ERR_SYSTEM_ERROR,
	  VIRT_FAULT_SILENT },
	{ "Cannot write data: Broken pipe", VIR_ERR_SYSTEM_ERROR,
	  VIRT_FAULT_SILENT },
	{ "operation failed: Lost connection to destination host",
	  VIR_ERR_OPERATION_FAILED, VIRT_FAULT_LOST },
	{ "Storage pool not found: no storage pool with matching target path",
	  VIR_ERR_NO_STORAGE_POOL, VIRT_FAULT_DISK },
	{ "Source and target image have different sizes",
	  VIR_ERR_INTERNAL_ERROR, VIRT_FAULT_DISK },
	{ "internal error: unable to execute QEMU command "
	  "'migrate-set-capabilities': Postcopy is not supported",
	  VIR_ERR_INTERNAL_ERROR, VIRT_FAULT_POST_COPY_UNSUPPORTED },
	{ "Failed to connect to '/run/x.sock'", VIR_ERR_OPERATION_FAILED,
	  VIRT_FAULT_CONNECT },
	{ "operation failed: Failed to connect to remote libvirt URI",
	  VIR_ERR_OPERATION_FAILED, VIRT_FAULT_CONNECT },
	{ "internal error: unable to execute QEMU command 'blockdev-add': "
	  "Failed to read initial magic: Unexpected end-of-file before all "
	  "data were read",
	  VIR_ERR_INTERNAL_ERROR, VIRT_FAULT_CONNECT },
	{ "the CPU is incompatible with host CPU", VIR_ERR_CPU_INCOMPATIBLE,
	  VIRT_FAULT_REFUSED },
	{ "Domain not found", VIR_ERR_NO_DOMAIN, VIRT_FAULT_GONE },
	{ "internal error: something else", VIR_ERR_INTERNAL_ERROR,
	  VIRT_FAULT_OTHER },
	{ NULL, VIR_ERR_INTERNAL_ERROR, VIRT_FAULT_OTHER },
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
