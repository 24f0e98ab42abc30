/** What a machine and its agent measured lately: made by agents, read by admins, drawn by the console. */
import { z } from 'zod';

/** How often an agent measures, in ms. Source: `scrape_interval` of deploy/prometheus. */
export const HISTORY_INTERVAL_MS = 15_000;

/** How far back an agent tells, in ms: an hour, which is what charts of a page span. */
export const HISTORY_MS_MAX = 3_600_000;

/** Points of one history. An honest one has 240; a later agent may measure each 5 s. */
export const HISTORY_POINTS_MAX = 720;

/** Largest history as JSON, in bytes. An honest one takes some 12 KiB. */
export const HISTORY_BYTES_MAX = 65_536;

/** What is believed of a load, in percent of the cores, and of a network, in bytes a second. */
const LOAD_PERCENT_MAX = 1e6;
const RATE_MAX = 1e12;

const percent = z.number().min(0).max(100);
const rate = z.number().min(0).max(RATE_MAX);

/** A list for each that is measured: a value for each point, null where it was not told. */
export const HISTORY_LISTS = {
  cpu_percent: listOf(percent).describe('Processor time that was not idle.'),
  load_percent: listOf(z.number().min(0).max(LOAD_PERCENT_MAX)).describe('Load of 1 min in percent of the cores.'),
  memory_percent: listOf(percent),
  disk_percent: listOf(percent).describe('Of the root filesystem.'),
  received_bytes_per_second: listOf(rate).describe('By all network interfaces but loopback.'),
  sent_bytes_per_second: listOf(rate),
  agent_bytes: listOf(z.int().min(0)).describe('Resident memory of the agent.'),
} as const;

/** What is measured. */
export type HistoryMeasure = keyof typeof HISTORY_LISTS;

/** The same, in the order in which it is told. */
export const HISTORY_MEASURES = Object.keys(HISTORY_LISTS) as readonly HistoryMeasure[];

/**
 * A history, oldest first. When something was measured is told as how long ago, by a clock of the machine that only
 * goes forward: what time it is there does not matter.
 */
export const MetricsHistory = z
  .object({
    /** From one point to the next, in ms. */
    interval_ms: z.int().min(1_000).max(HISTORY_MS_MAX),
    ages_ms: z.array(z.int().min(0).max(HISTORY_MS_MAX)).max(HISTORY_POINTS_MAX),
    ...HISTORY_LISTS,
  })
  .refine(
    ({ ages_ms: ages, ...lists }) => HISTORY_MEASURES.every((measure) => lists[measure].length === ages.length),
    'must have a value for each age',
  )
  .refine(
    ({ ages_ms: ages }) => ages.every((age, place) => age < (ages[place - 1] ?? Infinity)),
    'must have the oldest first',
  );
export type MetricsHistory = z.infer<typeof MetricsHistory>;

function listOf<const Value extends z.ZodType>(value: Value) {
  return z.array(value.nullable()).max(HISTORY_POINTS_MAX);
}
