/** The live feeds of contract.md 6 over one bus. */
import { createCommandsFeed, type CommandsFeed } from './commands.ts';
import { createEventsFeed, type EventsFeed } from './events.ts';
import { createNodesFeed, type NodesFeed } from './nodes.ts';
import type { FeedPorts } from './ports.ts';
import { createTailFeed, type TailFeed } from './tail.ts';

export interface Feeds {
  readonly nodes: NodesFeed;
  readonly commands: CommandsFeed;
  readonly executions: TailFeed;
  readonly events: EventsFeed;
  /** Listens no more. Readers end by their own signals. */
  close(): void;
}

/** All feeds. They cost nothing until someone watches. */
export function createFeeds(ports: FeedPorts): Feeds {
  const feeds = { nodes: createNodesFeed(ports), commands: createCommandsFeed(ports), executions: createTailFeed(ports), events: createEventsFeed(ports) };
  return {
    ...feeds,
    close() {
      for (const feed of Object.values(feeds)) feed.close();
    },
  };
}
