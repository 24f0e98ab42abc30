/** Limits of the console. */
import * as overviews from '../../actors/resources/overview.ts';
import * as sessions from '../../api/console/limits.ts';
import * as readings from '../../persistence/overview.ts';
import * as troubled from '../../persistence/reads/troubled-webhooks.ts';
import { limits, type Limit } from './limit.ts';

/** Of one theme of the page. */
export const CONSOLE_LIMITS: readonly (readonly Limit[])[] = [
  limits('api/console/limits.ts', sessions, [
    ['SESSION_IDLE_MS_MAX', 'A session of the console that nobody uses is over after this.'],
    ['SESSION_AGE_MS_MAX', 'It is over after this, however much it is used.'],
    ['SESSIONS_MAX', 'Sessions that there are; at one more, that which was longest unused is over.'],
    ['SESSION_LOOK_MS', 'Pages whose session is over are looked for this often, and cut.'],
    [
      'LOOKS_MISSED_MAX',
      'So many of these looks in a row that no database answers, and pages are cut (1013), so that they say that what they show is of before.',
    ],
    [
      'ASSET_MS_MAX',
      'So long another admin has to send a file of its build of the console; after it the file is not there.',
    ],
    ['ASSET_ADMINS_ASKED_MAX', 'Admins that are asked for one.'],
    ['ASSET_BYTES_MAX', 'Largest such file, compressed and unpacked; a larger one is not there.'],
    [
      'ASSETS_KEPT_MAX',
      'Such files that an admin keeps, with names that nobody has a file for; the oldest goes first.',
    ],
    ['ASSETS_KEPT_BYTES_MAX', 'What they come to; the oldest goes first.'],
    ['ASSET_KEPT_MS', 'One is kept for so long, then asked for again.'],
    ['ASSET_MISSED_MS', 'That no admin has one is remembered for so long.'],
    [
      'ASSETS_ASKED_AT_ONCE_MAX',
      'Files that all clients together have other admins asked for in one go; beyond it one is not there.',
    ],
    ['ASSETS_ASKED_PER_SECOND_MAX', 'Of these, in a second after that.'],
    ['ASSETS_ASKED_BY_ONE_PER_MINUTE_MAX', 'Of these, for one address in a minute.'],
    ['SIGN_IN_BODY_BYTES_MAX', 'Largest body with which somebody signs in; above it 413.'],
  ]),
  limits('persistence/overview.ts', readings, [
    ['OVERVIEW_KEPT_MS', 'What `get_overview` tells was read so long ago at most, once at each admin for all who ask.'],
    ['OVERVIEW_READ_MS_MAX', 'A number of it that takes longer to count is null.'],
  ]),
  limits('persistence/reads/troubled-webhooks.ts', troubled, [
    [
      'DROPPED_LOOKED_AT_MAX',
      'Deliveries that a webhook gave up, those made last, are looked at for `dropped_at__gte`.',
    ],
  ]),
  limits('actors/resources/overview.ts', overviews, [
    ['OVERVIEW_COUNTED_MAX', 'Nothing is counted further for it.'],
    ['OVERVIEW_FAILURES_MAX', 'Failures that it names, the latest first.'],
    ['OVERVIEW_SCRIPT_CHARACTERS_MAX', 'First characters of a script that stand for it there.'],
    ['OVERVIEW_ADMINS_MAX', 'Admins that it names, by name: of more, those with problems before the others.'],
    ['OVERVIEW_WEBHOOKS_MAX', 'Webhooks in trouble that it names.'],
    ['OVERVIEW_DELIVERIES_COUNTED_MAX', 'Deliveries of such a webhook are not counted further.'],
    ['OVERVIEW_WAITING_MS', 'A webhook is in trouble when its next delivery waits for so long.'],
    ['OVERVIEW_RECENT_MS', 'It tells what ended, failed or was given up so long before at most.'],
  ]),
];
