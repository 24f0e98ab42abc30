/** Names that the database knows: channels of events, and what is notified. The migration uses the same. */

/** The channel that becomes deliveries of webhooks. */
export const WEBHOOKS_CHANNEL = 'webhooks';

/** The channel that goes to the broker. */
export const BROKER_CHANNEL = 'broker';

/** Notified by a trigger when events are stored. */
export const EVENTS_STORED = 'edge_events';

/** Notified with `<admin id> <webhook id>` when an admin deleted a webhook. */
export const WEBHOOK_CHANGES = 'edge_webhooks';

/** Notified with `<admin id> <request id>` when an admin stored a self-update request. */
export const SELF_UPDATES_CREATED = 'edge_self_updates';
