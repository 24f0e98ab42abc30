/** Writes that fail as on a broken disk, for tests in which no disk is broken. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

/** What `act` gives while SQLite refuses this statement. */
export function refusing<T>(statement: 'COMMIT' | 'ROLLBACK', act: () => T): T {
  const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec');
  DatabaseSync.prototype.exec = function refuse(sql) {
    if (sql === statement) throw new Error('disk I/O error');
    exec.call(this, sql);
  };
  try {
    return act();
  } finally {
    DatabaseSync.prototype.exec = exec;
  }
}

/**
 * What `act` gives while the system lets nobody write to a file that is open, as when it mounted the disk read-only.
 */
export function readOnly<T>(act: () => T): T {
  const { writeSync } = fs;
  fs.writeSync = () => {
    throw Object.assign(new Error('EROFS: read-only file system, write'), { code: 'EROFS' });
  };
  syncBuiltinESMExports();
  try {
    return act();
  } finally {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  }
}
