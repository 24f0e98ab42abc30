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

/**
 * Bytes of one answer at most, with its length in front: the data of a READ, or what READLINK, REALPATH and READDIR
 * give.
 */
export const ANSWER_BYTES_MAX = PACKET_BYTES_MAX;

/** Bytes of answers after which they are written, before the next request is looked at. */
export const BATCH_BYTES_MAX = 262_144;

/** Batches of answers that are being written. While all are, requests wait. */
export const BATCHES_MAX = 3;

/** Bytes that are read at once. */
export const READ_BYTES_MAX = 262_144;

/**
 * Bytes of requests that wait, beyond which nothing is read: one packet of the largest size, and hundreds of small
 * ones.
 */
export const HELD_BYTES_MAX = 2 * PACKET_BYTES_MAX;

/**
 * Bytes after which one READDIR answer is full. Source: answers of 34,000 bytes are what every client must take
 * (draft-ietf-secsh-filexfer-02, 3).
 */
export const LISTING_BYTES_MAX = 32_000;

/** Files and directories that one client has open at once. */
export const HANDLES_MAX = 1_000;

/** Symbolic links that one REALPATH follows by itself. Source: the kernel's own limit (MAXSYMLINKS). */
export const LINKS_MAX = 40;

/**
 * Numbers of users, and of groups, whose names one request may ask for: as many as fit into the answer with the longest
 * names.
 */
export const IDS_MAX = 4_096;
