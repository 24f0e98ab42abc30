/**
 * A session of the console as clients see it: nothing of its token, and nothing of its key but what that reaches (E4).
 */
import { z } from 'zod';
import { resource, type Given } from './resource.ts';

/** Somebody who is signed in. */
export const ConsoleSessionResource = resource('ConsoleSession', 'Somebody who is signed in to the console.', {
  id: z.uuid(),
  principal: z.enum(['master', 'api']).describe('What its key reaches: that of MASTER_KEY or API_KEY.'),
  address: z.string().describe('From where somebody signed in.'),
  user_agent: z.string().describe('With which browser.'),
  inserted_at: z.iso.datetime().describe('When somebody signed in.'),
  last_used_at: z.iso.datetime().describe('It is over half an hour after.'),
  expires_at: z.iso.datetime().describe('It is over then, however much it is used.'),
});
export type ConsoleSessionResource = Given<typeof ConsoleSessionResource>;
