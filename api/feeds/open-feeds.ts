/** The live feeds of an admin, with what they hear of others. */
import type { Bus } from '../../actors/bus.ts';
import type { NewsSource } from '../../actors/news.ts';
import { createFeeds, type Feeds } from './feeds.ts';
import type { FeedPorts, FeedReads } from './ports.ts';

/** By what feeds hear. */
export interface FeedSources {
  /** What all admins commit. */
  readonly news: Pick<Bus, 'subscribe'>;
  readonly links: { readonly news: Pick<NewsSource, 'want'> };
  /** Whether the bus says that events are stored also of those of others. */
  readonly areAllEventsTold: () => boolean;
}

/** What they read besides what operations do. */
export type FeedRows = Pick<FeedReads, 'executionsOf' | 'existingCommands'> & {
  readonly operations: { readonly reads: Omit<FeedReads, 'executionsOf' | 'existingCommands'> };
};

/** Nobody watches yet. */
export function openFeeds(
  {
    news,
    links,
    areAllEventsTold,
    rows,
    ...ports
  }: FeedSources & Pick<FeedPorts, 'tails' | 'clock' | 'log'> & { readonly rows: FeedRows },
  coreName: string,
): Feeds {
  const feeds: Feeds = createFeeds({
    ...ports,
    coreName,
    news,
    wantedChanged: () => links.news.want('feeds', feeds.wanted()),
    areAllEventsTold,
    reads: {
      ...rows.operations.reads,
      executionsOf: (command, limit) => rows.executionsOf(command, limit),
      existingCommands: (commands) => rows.existingCommands(commands),
    },
  });
  return feeds;
}
