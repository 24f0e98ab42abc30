/** Columns that many tables have. */
import { p } from '@mikro-orm/core';

/** An instant, in ms of precision as everywhere in this system. */
export const instant = () => p.datetime().length(3);

/** When a row was made and last changed: written by whoever knows the time of the change, never by a default. */
export const dates = { insertedAt: instant(), updatedAt: instant() };

/** An address range. PostgreSQL refuses one with host bits set. */
export const cidr = () => p.string().columnType('cidr');

/** SHA-256 of a secret. */
export const hash = () => p.uint8array();
