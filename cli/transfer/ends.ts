/** How a transfer ended, file by file and machine by machine. */

/** A file that is where it should be, and right. */
export interface FileEnd {
  /** Where it is now: on the machine after a push, here after a pull. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** What was there of it from before, in bytes; 0: nothing. */
  readonly wentOnAt: number;
  /** Nothing had to be sent. */
  readonly wasThere: boolean;
}

/** A machine: all is done, it failed, or it was not reached to the end. */
export interface MachineEnd {
  readonly node: string;
  /** For people. */
  readonly name: string;
  readonly status: 'done' | 'failed' | 'unfinished';
  readonly files: readonly FileEnd[];
  /** In one line; null: nothing is wrong. */
  readonly problem: string | null;
}
