/** Bounds of the SFTP server. Nothing in it grows past them. */

/**
 * Bytes of one packet without the length in front of it. Source: 256 KiB as in OpenSSH (SFTP_MAX_MSG_LENGTH), and what
 * a client may put around 256 KiB of data, since some take that number for the data alone.
 */
export const PACKET_BYTES_MAX = 262_144 + 1_024;

/** Bytes of a packet that clients are told. Source: SFTP_MAX_MSG_LENGTH of OpenSSH. */
export const TOLD_PACKET_BYTES_MAX = 262_144;

/**
 * Bytes that one READ gives at most, and that clients are told for READ and WRITE. Source: as OpenSSH, a packet less 1
 * KiB of header.
 */
export const DATA_BYTES_MAX = TOLD_PACKET_BYTES_MAX - 1_024;

/** Files and directories that one client has open at once. */
export const HANDLES_MAX = 1_000;
