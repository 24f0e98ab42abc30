/** The headers of a webhook request, as JSON Schema: the document and the page both tell of them. */
import type { JsonSchema } from '../schemas.ts';

/**
 * Two signatures over the same body: ours, and that of Standard Webhooks, whose libraries verify it. Source:
 * docs/events.md; standardwebhooks.com, 1.0.
 */
export const WEBHOOK_HEADERS = {
  type: 'object',
  required: ['X-Edge-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'X-Edge-Signature': {
      type: 'string',
      pattern: '^sha256=[0-9a-f]{64}$',
      description:
        '`sha256=` and the HMAC-SHA256 of the exact bytes of the body under the secret of the webhook, in lower-case hex.',
    },
    'webhook-id': { type: 'string', format: 'uuid', description: 'The id of the event, the same on every try.' },
    'webhook-timestamp': {
      type: 'string',
      pattern: '^[0-9]+$',
      description: 'When this try was made, in seconds since 1970.',
    },
    'webhook-signature': {
      type: 'string',
      pattern: '^v1,',
      description:
        '`v1,` and the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`, in base64, as Standard Webhooks has it. The key is the secret, or of one that begins with `whsec_` what the base64 behind it says.',
    },
  },
} as const satisfies JsonSchema;
