/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/remedies_proxy.h"

#include "base/array.h"
#include "ctl/remedies_steps.h"

/* clang-format off */
#define RULES \
	{ "rules that drop or refuse, on both nodes", "nft list ruleset" }
#define CERTIFICATES \
	{ "until when, and as whom, each node shows itself", \
	  "ferryctl doctor" }
#define RENEW \
	{ "replace certificate and key of the node that doctor names; its " \
	  "proxy sees that by itself", NULL }
#define SAME_PROXIES \
	{ "let nothing stand between the proxies that ends TLS, and update " \
	  "them to one version", NULL }
#define LAUNCHER_LOG \
	{ "the log of the launcher on the target", \
	  "kubectl logs -n {ns} {pod} -c compute" }

/* Certificates that do not fit, and peers that are none. */
#define CERTIFICATE(code_, meaning_) \
	FOR(PROXY, code_, "certificate-expired", meaning_, \
	    .check = { CERTIFICATES, PROXIES }, .fix = { RENEW, AGAIN })
#define STRANGER(code_, meaning_) \
	FOR(PROXY, code_, "certificate-expired", meaning_, \
	    .check = { PROXIES, RULES }, .fix = { SAME_PROXIES, AGAIN })
/* The connection ended before its time. */
#define CUT(code_, meaning_) \
	FOR(PROXY, code_, "no-connection", meaning_, \
	    .check = { PROXIES, NODES, RULES }, \
	    .fix = { { "mend the network between the nodes, or the node", \
		       NULL }, \
		     AGAIN })
/* Source and target do not mean the same. */
#define MISUNDERSTOOD(code_, meaning_) \
	FOR(PROXY, code_, "no-connection", meaning_, \
	    .check = { PROXIES, EVENTS }, .fix = { AGAIN })
/* What the target's proxy passes streams on to. */
#define LOCAL(code_, meaning_) \
	FOR(PROXY, code_, "target-node-dies", meaning_, \
	    .check = { NODES, POD_EVENTS, LAUNCHER_LOG }, \
	    .fix = { { "keep machines away from a node that is not well", \
		       "kubectl cordon {target}" }, \
		     AGAIN })

const struct remedy remedies_proxy[] = {
	CERTIFICATE("CertificateExpired",
		    "The certificate of a node has expired."),
	CERTIFICATE("CertificateNotYetValid",
		    "The certificate of a node is not valid yet, or the clock "
		    "of the other node is late."),
	CERTIFICATE("WrongCA",
		    "The certificate of a node is of an authority that the "
		    "other one does not trust."),
	CERTIFICATE("WrongNode",
		    "A node shows the certificate of another node."),
	CERTIFICATE("NoCertificate", "A node shows no certificate."),
	CERTIFICATE("WrongPurpose",
		    "The certificate of a node is not meant for this use."),
	CERTIFICATE("BadCertificate",
		    "The certificate of a node is malformed or revoked."),

	STRANGER("WrongALPN", "What answers is no ferry-proxy."),
	STRANGER("TLSVersion", "What answers does not speak TLS 1.3."),
	STRANGER("NoCommonCipher",
		 "The proxies have no cipher suite in common."),
	STRANGER("NotTLS", "What came over the connection is not TLS."),
	STRANGER("BadRecord",
		 "A TLS record was forged or garbled on the way."),
	STRANGER("UnexpectedMessage",
		 "The peer sent a TLS message that is not allowed there."),
	STRANGER("PeerAlert",
		 "The peer refused with an alert that fits no other code."),
	STRANGER("TooMuch", "The peer passed a limit of the TLS layer."),
	STRANGER("HandshakeFailed", "The TLS handshake failed."),
	STRANGER("HandshakeTimeout",
		 "The TLS handshake did not end in time: something takes "
		 "connections and does not answer, or a node is overloaded."),
	STRANGER("WrongMode",
		 "One node wants TLS and the other does not."),
	STRANGER("BadMessage",
		 "The proxies do not understand each other: their versions "
		 "differ too much."),
	STRANGER("PeerRefused",
		 "The target's proxy refused with a code that the source's "
		 "does not know: their versions differ."),

	FOR(PROXY, "DialTimeout", "port-blocked",
	    "The target's port did not answer: a firewall drops what is sent "
	    "to it, or the node is down.",
	    .check = { PROXIES, RULES, NODES },
	    .fix = { { "allow TCP between the migration addresses of the "
		       "nodes", NULL },
		     AGAIN }),
	FOR(PROXY, "DialRefused", "port-blocked",
	    "Nobody listens on the target's port, or a firewall refuses it.",
	    .check = { PROXIES, RULES },
	    .fix = { { "start ferry-proxy of the target node, or allow TCP "
		       "between the migration addresses of the nodes", NULL },
		     AGAIN }),
	FOR(PROXY, "DialFailed", "migration-network-missing",
	    "The source node has no way to the migration address of the "
	    "target node.",
	    .check = { PROXIES,
		       { "the interface for migrations, on both nodes",
			 "ip -brief address" } },
	    .fix = { { "bring up the interface with its address and route",
		       NULL },
		     AGAIN }),

	CUT("PeerDead",
	    "Nothing came from the other node for longer than the peer "
	    "timeout: the node or the way to it is down."),
	CUT("PeerReset", "The other node cut the connection."),
	CUT("Truncated",
	    "The connection ended before the other node had ended it."),
	CUT("Stopped",
	    "The proxy was told to stop: the migration was given up, or the "
	    "proxy restarted."),

	MISUNDERSTOOD("WrongMigration",
		      "The source dialed a port that is another migration's "
		      "by now."),
	MISUNDERSTOOD("WrongChannel",
		      "The source dialed the port of another channel: its map "
		      "of ports is not the target's."),

	LOCAL("LocalMissing",
	      "The launcher or QEMU on the target does not listen any more."),
	LOCAL("LocalFailed",
	      "The socket of the launcher or of QEMU on the target failed."),
	LOCAL("LocalTimeout",
	      "The launcher or QEMU on the target takes nothing: its queue "
	      "stays full."),

	FOR(PROXY, "TooManyHandshakes", "no-connection",
	    "Too many connections were begun at once, and the oldest gave "
	    "way: many migrations at a time, or somebody attacks the port.",
	    .check = { PROXIES, MIGRATIONS },
	    .fix = { { "keep others away from the ports of ferry-proxy", NULL },
		     AGAIN }),
	FOR(PROXY, "Resources", "no-connection",
	    "A ferry-proxy is out of descriptors or memory.",
	    .check = { PROXIES, MIGRATIONS },
	    .fix = { { "raise its limits (LimitNOFILE=), or migrate fewer at "
		       "a time", NULL },
		     LIMITS, AGAIN }),
	FOR(PROXY, "Internal", "node-failure",
	    "A ferry-proxy failed in a way that nobody expected; its log has "
	    "it.",
	    .check = { PROXIES, EVENTS }, .fix = { AGAIN }),
};
/* clang-format on */

const size_t remedies_proxy_count = ARRAY_LEN(remedies_proxy);
