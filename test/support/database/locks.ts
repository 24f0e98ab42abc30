/** Looks at `pg_locks`, which is of the whole server. */

/** A condition of it: tables of databases that are copies of one template have the same numbers. */
export const IN_THIS_DATABASE = 'database = (select oid from pg_database where datname = current_database())';
