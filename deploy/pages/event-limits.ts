/** Limits of webhooks, brokers, and whoever serves them. */
import { limits, type Limit } from './limit.ts';
import * as brokerRows from '../../persistence/publishing/broker-rows.ts';
import * as channels from '../../persistence/publishing/channels.ts';
import * as guard from '../../transport/net/outbound-guard/limits.ts';
import * as publishedEvent from '../../actors/published-event.ts';
import * as publishingChannel from '../../supervisors/publishing/channel.ts';
import * as taskLeases from '../../persistence/ownership/task-leases.ts';
import * as webhookDelivery from '../../actors/webhook/delivery.ts';
import * as eventsAhead from '../../supervisors/publishing/events-ahead.ts';
import * as webhookRetry from '../../actors/webhook/retry.ts';
import * as webhookRows from '../../persistence/committer/webhook-rows.ts';
import * as webhookState from '../../actors/webhook/state.ts';

/** In the order of the page. The link in the last column of each row leads to the file. */
export const EVENT_LIMITS: readonly (readonly Limit[])[] = [
  limits('persistence/committer/webhook-rows.ts', webhookRows, [['WEBHOOKS_MAX', 'Webhooks in all; more is a 409.']]),
  limits('transport/net/outbound-guard/limits.ts', guard, [
    ['URL_CHARS_MAX', 'Characters of a URL; a longer one is a 422.'],
  ]),
  limits('actors/webhook/state.ts', webhookState, [
    ['WINDOW_DELIVERIES_MAX', 'Unfinished deliveries of a webhook that are held in memory. More wait in the database.'],
    ['UNANSWERED_TRIES_MIN', 'Tries in a row that nobody answered, after which a receiver is away.'],
    [
      'BEGUN_WHILE_AWAY_MAX',
      'Deliveries of a receiver that is away that are tried at a time. The others keep their tries.',
    ],
    ['AWAY_LOOK_MS_MAX', 'One whose next try is further away than this is not counted among them.'],
    ['REDELIVERIES_MAX', 'Deliveries of one webhook that wait to be sent again by hand; more is a 429.'],
    ['DELIVERY_TRIES_MAX', 'Tries of one delivery, also by hand; one more is a 409.'],
  ]),
  limits('supervisors/publishing/events-ahead.ts', eventsAhead, [
    ['EVENTS_AHEAD_MAX', 'Events that are sent to webhooks before the rows of all are there.'],
    ['FOLLOWER_QUIET_MS_MAX', 'A webhook that stores nothing for so long gets rows for what waits for it.'],
    ['FOLLOWER_HELD_UP_MS_MAX', 'So does one whose oldest event is not stored for so long, whatever else it stores.'],
  ]),
  limits('actors/webhook/retry.ts', webhookRetry, [
    ['RETRY_WAIT_MS_MAX', 'Longest wait between two tries, unless the receiver wishes a longer one.'],
    ['RETRY_AFTER_MS_MAX', 'Longest wish of a receiver by `Retry-After`. A longer one counts as this.'],
  ]),
  limits('actors/webhook/delivery.ts', webhookDelivery, [['ANSWER_BYTES_MAX', "Kept of a receiver's answer."]]),
  limits('actors/published-event.ts', publishedEvent, [
    ['BATCH_EVENTS_MAX', 'Events in one publish to a broker.'],
    ['PUBLISH_MS_MAX', 'A publish that is not confirmed after this is done again.'],
  ]),
  limits('persistence/publishing/broker-rows.ts', brokerRows, [
    ['BATCH_BYTES_MAX', 'Text of one publish to a broker.'],
  ]),
  limits('persistence/publishing/channels.ts', channels, [
    ['CHANNEL_LEASE_MS', 'Events of an admin that was killed go on from another one after this.'],
  ]),
  limits('supervisors/publishing/channel.ts', publishingChannel, [
    [
      'GIVE_WAY_AFTER_MS',
      'An admin that could publish nothing to the broker for so long lets another one try, if there is one.',
    ],
  ]),
  limits('persistence/ownership/task-leases.ts', taskLeases, [
    ['TASK_LEASE_MS', 'Whole tables are swept by another admin after this, when the one that did was killed.'],
  ]),
];
