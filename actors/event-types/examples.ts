/** One small story that all examples tell: a node of a factory, a command on it, and what became of both. */

/** Ids as they occur in it. */
export const EXAMPLE_IDS = {
  node: '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01',
  command: '0193a1c2-9a10-7d02-8f11-2b7c5d9e3f02',
  execution: '0193a1c2-9a11-7e55-a0b2-6c8d1e4f7a03',
  key: '0193a1c0-11aa-7b33-8c44-9d5e6f7a8b04',
  update: '0193a1c5-22bb-7c66-9d77-8e9f0a1b2c05',
  username: '0193a1c6-33cc-7d88-8e99-7f0a1b2c3d06',
} as const;

/** When its parts happened. */
export const EXAMPLE_TIMES = {
  enrolled: '2026-01-15T09:00:00.000Z',
  created: '2026-01-15T10:00:00.000Z',
  sent: '2026-01-15T10:00:00.020Z',
  ended: '2026-01-15T10:00:01.500Z',
  pruned: '2026-02-14T10:00:02.000Z',
} as const;

/** The cluster that it plays in. */
export const EXAMPLE_CLUSTER = 'factory-east';
