/** What the command line may ask of a case. */
import type { Report } from '../method/report.ts';

/** The options of a run, as every case gets them. */
export interface CaseOptions {
  readonly report: Report;
  /** What is named behind the case, for cases that have several parts; empty: all of them. */
  readonly names: readonly string[];
  /** Sizes of the fleet; empty: the case's own. */
  readonly nodes: readonly number[];
  /** Admins that share the fleet; undefined: the case's own. */
  readonly admins: number | undefined;
  /** Counted rounds; undefined: the case's own. */
  readonly repeats: number | undefined;
  /** Bytes that are moved at a time, in MiB; undefined: the case's own. */
  readonly mib: number | undefined;
  /** Rows of a database; undefined: the case's own. */
  readonly rows: number | undefined;
  /** Length of a sustained load, in s; undefined: the case's own. */
  readonly seconds: number | undefined;
  /** Operations a second of an open load; undefined: the case's own. */
  readonly rate: number | undefined;
  /** Leaves the product out. */
  readonly floorOnly: boolean;
  /** Allows the installation of missing peers, below the bench's own directory or by apt. */
  readonly install: boolean;
  /** Where CPU profiles of the admin, and of the agent where it has a part, are written; undefined: none are taken. */
  readonly profileDir: string | undefined;
}
