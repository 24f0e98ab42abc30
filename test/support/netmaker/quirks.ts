/** How one Netmaker server differs from others. */
export interface Quirks {
  /** Empty lists are `null`. */
  readonly nullLists: boolean;
  /** Every answer is {Code, Message, Response}. */
  readonly wraps: boolean;
  /** What is not there is answered with this. */
  readonly missing: 400 | 404 | 500;
  /**
   * Hosts that leave a network stay in its list, `pendingdelete`, until `settle`; otherwise they go without a trace.
   */
  readonly lateDeletes: boolean;
  /** A network comes with an enrolment key of its own. */
  readonly defaultKeys: boolean;
  /** Put behind every name that is listed; empty: nothing. */
  readonly domain: string;
  /** Nodes say by a word whether they are connected. */
  readonly saysStatus: boolean;
}

/** Of a server of today. */
export const MODERN: Quirks = {
  nullLists: true,
  wraps: false,
  missing: 500,
  lateDeletes: false,
  defaultKeys: true,
  domain: 'nm.test',
  saysStatus: true,
};
