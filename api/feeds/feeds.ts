/** The live feeds of docs/api.md over one bus. */
import type { WantedNews } from '../../actors/news.ts';
import type { CommandId } from '../../transport/protocol/ids.ts';
import { CommandsFeed } from './commands.ts';
import { EventsFeed } from './events.ts';
import { NodesFeed } from './nodes.ts';
import type { FeedPorts, OpenExecutionShown } from './ports.ts';
import { TailFeed } from './tail.ts';

export interface Feeds {
  readonly nodes: NodesFeed;
  readonly commands: CommandsFeed;
  readonly executions: TailFeed;
  readonly events: EventsFeed;
  /** Open executions that somebody watches or tails: news of those on nodes of other admins has to be read for them. */
  open(): Iterable<OpenExecutionShown>;
  /** What their readers want to hear of other admins. */
  wanted(): WantedNews;
  /** Listens no more. Readers end by their own signals. */
  close(): void;
}

/** All feeds. They cost nothing until someone watches. */
export function createFeeds(ports: FeedPorts): Feeds {
  const feeds = {
    nodes: new NodesFeed(ports),
    commands: new CommandsFeed(ports),
    executions: new TailFeed(ports),
    events: new EventsFeed(ports),
  };
  return {
    ...feeds,
    *open() {
      yield* feeds.commands.open();
      yield* feeds.executions.open();
    },
    wanted: () => ({
      nodes: feeds.nodes.isWatched(),
      commands: new Set<CommandId>([...feeds.commands.watched(), ...feeds.executions.watched()]),
    }),
    close() {
      for (const feed of Object.values(feeds)) feed.close();
    },
  };
}
