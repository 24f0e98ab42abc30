/** Every bound of terminals by WebSocket, with its unit. Source: docs/architecture/reaching.md, Terminals. */
import type { BucketLimits } from '../../transport/net/token-bucket.ts';
import type { ShareLimits } from '../shares.ts';

/** Terminals at a time of one admin, and of these with one key and from one address: each is a connection by SSH. */
export const TERMINALS: ShareLimits = { placesMax: 256, ofOneKeyMax: 192, ofOneAddressMax: 64 };

/** Of one node, at a time: its SSH server takes 64 connections, and others want in too. */
export const TERMINALS_PER_NODE_MAX = 16;

/** Whoever is connected says within this where to, in ms. */
export const OPENING_MS_MAX = 10_000;

/** From there until somebody is logged in, in ms: the tunnel may have to be opened first. */
export const LOGIN_MS_MAX = 30_000;

/** A terminal in which nobody types and no file moves is closed after this, in ms: as sessions of the console end. */
export const IDLE_MS_MAX = 1_800_000;

/** A terminal is closed when it is this old, in ms: as sessions of the console end. */
export const AGE_MS_MAX = 43_200_000;

/** Largest message of a client that is text, in bytes: a path of 4,096 characters, escaped. */
export const TEXT_BYTES_MAX = 32_768;

/** Largest message of bytes, either way, with the byte before them that names the channel. */
export const BYTES_MAX = 65_537;

/** Bytes of a channel that the other side was sent and has not yet said to have taken. */
export const WINDOW_BYTES = 262_144;

/** Messages of a client, whatever they are: several times what quick typing and fast files take. */
export const MESSAGES: BucketLimits = { tokensMax: 4_000, tokensPerSecond: 2_000 };

/**
 * Largest file that is uploaded, in bytes: 4 GiB. Nothing of one is kept here; it is the disk of the machine that
 * fills.
 */
export const UPLOAD_BYTES_MAX = 4_294_967_296;

/** A machine has this long to take back what is there of an upload whose client went, in ms; then it is hung up. */
export const GIVING_UP_MS_MAX = 1_000;

/** The same where whoever had it may have it no longer (E5), in ms. */
export const REVOKED_MS_MAX = 200;

/** Entries of a directory that are listed. */
export const ENTRIES_MAX = 5_000;

/** A quiet client is pinged after this, and cut when it does not answer until the next, in ms. */
export const PING_MS = 20_000;

/** A side of a terminal, in characters. Source: xterm.js takes no more columns without trouble. */
export const SIDE_MAX = 1_000;

/** What was made for a terminal and cannot be taken back just now is tried again after these, in ms. */
export const TAKE_BACK_AFTER_MS: readonly number[] = [0, 1_000, 5_000, 30_000, 120_000];

/**
 * Keys that terminals before this one left behind, as their admin was killed, are deleted when they are this old, in
 * ms.
 */
export const LEFT_BEHIND_MS = AGE_MS_MAX;
