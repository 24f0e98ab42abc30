/** Numbers of SFTP version 3. Source: draft-ietf-secsh-filexfer-02. */

/** The version that this server speaks, whatever the client offers. */
export const SFTP_VERSION = 3;

/** Kinds of packets (draft, 3). */
export const PACKET = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attributes: 105,
  extended: 200,
  extendedReply: 201,
} as const;

/** How a request ended (draft, 7). */
export const STATUS = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  unsupported: 8,
} as const;

/** One of STATUS. */
export type StatusCode = (typeof STATUS)[keyof typeof STATUS];

/** What OPEN asks for, as bits (draft, 6.3). */
export const OPEN_FLAG = {
  read: 0x01,
  write: 0x02,
  append: 0x04,
  create: 0x08,
  truncate: 0x10,
  exclusive: 0x20,
} as const;

/** Which fields of attributes follow, as bits (draft, 5). */
export const ATTRIBUTE_FLAG = {
  size: 0x01,
  owner: 0x02,
  permissions: 0x04,
  times: 0x08,
  extended: 0x8000_0000,
} as const;
