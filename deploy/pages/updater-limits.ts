/** What bounds the updater of a machine. Its settings stand among the settings. */
import * as download from '../../agent/updater/download.ts';
import * as mirror from '../../agent/updater/mirror.ts';
import * as mirrorRetry from '../../agent/updater/mirror-retry.ts';
import * as repair from '../../agent/updater/repair.ts';
import * as diskSpace from '../../agent/updater/disk-space.ts';
import * as runningUpdates from '../../agent/updater/running-updates.ts';
import * as selfCheck from '../../agent/updater/self-check.ts';
import * as server from '../../agent/updater/server.ts';
import * as service from '../../agent/updater/service.ts';
import * as state from '../../agent/updater/state.ts';
import * as transition from '../../agent/updater/transition.ts';
import * as trust from '../../agent/updater/trust.ts';
import * as updater from '../../agent/updater/updater.ts';
import * as watch from '../../agent/updater/watch.ts';
import { limits, type Limit } from './limit.ts';

/** What it fetches, by file. */
const FETCHING: readonly (readonly Limit[])[] = [
  limits('agent/updater/mirror.ts', mirror, [
    ['ANSWER_MS_MAX', 'Until an admin or a mirror begins its answer. Then the next one is asked.'],
    ['BYTES_PER_SECOND_MIN', 'A download that is slower over `SLOW_WINDOW_MS` is given up at this mirror.'],
    ['SLOW_WINDOW_MS', 'Over which a download is judged.'],
    ['METADATA_MS_MAX', 'A file of metadata is whole within this, or the next mirror is asked.'],
  ]),
  limits('agent/updater/download.ts', download, [
    ['BROKEN_TRIES_MAX', 'A download that breaks off is gone on with so often at one mirror.'],
  ]),
  limits('agent/updater/mirror-retry.ts', mirrorRetry, [
    ['BUSY_TRIES_MAX', 'A mirror that is busy (429, 503) is asked so often for one file, before the next mirror is.'],
    ['BUSY_WAIT_SECONDS_MAX', 'Seconds that it may ask to wait before each of these tries. Longer ones count as this.'],
    ['BUSY_MS_MAX', 'From its beginning an update asks mirrors in turn for so long while one of them is busy.'],
  ]),
  limits('agent/updater/disk-space.ts', diskSpace, [
    ['RESERVE_BYTES', 'Stays free on the disk besides what a release needs. Otherwise nothing is fetched.'],
  ]),
  limits('agent/updater/trust.ts', trust, [
    ['ROOTS_MAX', 'New roots of the releases that are followed in one update.'],
  ]),
  limits('agent/updater/updater.ts', updater, [
    ['DOWNLOADS_MS_MAX', 'What an update that failed had fetched is kept for so long.'],
  ]),
];

/** How it judges a version, by file. */
const JUDGING: readonly (readonly Limit[])[] = [
  limits('agent/updater/self-check.ts', selfCheck, [
    ['CHECK_MS_MAX', 'Each question to a new version, before it is switched to. Otherwise it is not.'],
  ]),
  limits('agent/updater/transition.ts', transition, [
    ['STARTS_MAX', 'An update that was interrupted is begun again so often, then given up or taken back.'],
  ]),
  limits('agent/updater/running-updates.ts', runningUpdates, [
    ['AGAIN_MS', 'An update that could not go on, as on a full disk, is taken up again after this.'],
  ]),
  limits('agent/updater/service.ts', service, [
    ['RESTART_MS_MAX', 'A restart of the agent. Then it failed, and the version is taken back.'],
    ['LOG_TAIL_BYTES', "The end of the agent's log that the reason of a version that was taken back is made of."],
  ]),
  limits('agent/updater/watch.ts', watch, [
    ['CRASH_STARTS', 'A new version that starts so often within `CRASH_WINDOW_MS` crashes, and is taken back.'],
    ['CRASH_WINDOW_MS', 'In which these starts are counted.'],
    ['STALE_MS', 'A new version that says nothing (`health.json`) for so long is not well.'],
    ['LIMIT_MS', 'A version that is not well is taken back after this, also where nobody reaches an admin.'],
  ]),
  limits('agent/updater/repair.ts', repair, [
    ['DEAD_MS', 'An agent that says nothing for so long is repaired, updated or restarted.'],
  ]),
];

/** By file. */
export const UPDATER_LIMITS: readonly (readonly Limit[])[] = [
  limits('agent/updater/server.ts', server, [
    ['CONNECTIONS_MAX', 'Connections to its HTTP API at once; more are closed.'],
    ['HEADER_BYTES_MAX', 'All headers of a request; more closes the connection.'],
    ['BODY_BYTES_MAX', 'The body of a request, which nobody reads; more is a 413.'],
    ['REQUEST_MS_MAX', 'A request is whole within this, or the connection is closed.'],
    ['RETRY_AFTER_SECONDS', 'Seconds after which whoever asks during an update is told to come back (429).'],
  ]),
  limits('agent/updater/state.ts', state, [
    ['REQUEST_CHARS_MAX', 'Characters of the name of a request; more is a 400.'],
  ]),
  ...FETCHING,
  ...JUDGING,
];
