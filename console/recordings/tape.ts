/**
 * A recording made ready to be played: every event with its time, waits that are cut short, words that were shown.
 * Pure.
 */
import { parseCast, type CastEvent, type TerminalSize } from '../../api/client/asciicast.ts';
import { plainTextOf } from '../run/ansi.ts';

/** All of it. */
export interface Tape {
  readonly size: TerminalSize;
  readonly events: readonly CastEvent[];
  readonly durationMs: number;
}

/** Places that are told; who wants more looks for something longer. */
export const PLACES_MAX = 500;

/** A side of a terminal that is drawn, in characters: a recording may name any. */
export const SIDE_MAX = 1_000;

/** What a recording says; null: it is none. */
export function tapeOf(text: string): Tape | null {
  const cast = parseCast(text);
  if (cast === null) return null;
  const events = [...cast.events()];
  return { size: cast.size, events, durationMs: events.at(-1)?.atMs ?? 0 };
}

/** The same with no wait longer than this. */
export function withoutIdle(tape: Tape, idleMsMax: number): Tape {
  let [beforeMs, atMs] = [0, 0];
  const events = tape.events.map((event) => {
    atMs += Math.min(event.atMs - beforeMs, idleMsMax);
    beforeMs = event.atMs;
    return { ...event, atMs };
  });
  return { ...tape, events, durationMs: atMs };
}

/** How many events have happened by then. */
export function countUntil({ events }: Tape, atMs: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** When words were shown, as places of the events that ended them, whatever their case and colours. */
export function placesOf({ events }: Tape, words: string): readonly number[] {
  const sought = words.toLowerCase();
  if (sought === '') return [];
  const places: number[] = [];
  let tail = '';
  for (const [place, event] of events.entries()) {
    if (event.type !== 'output') continue;
    const text = tail + plainTextOf(event.text).toLowerCase();
    if (text.includes(sought)) {
      places.push(place);
      if (places.length >= PLACES_MAX) break;
      tail = '';
    } else tail = text.slice(Math.max(0, text.length - sought.length + 1));
  }
  return places;
}

/** A size that can be drawn. */
export function drawnSize({ columns, rows }: TerminalSize): TerminalSize {
  return { columns: Math.min(Math.max(1, columns), SIDE_MAX), rows: Math.min(Math.max(1, rows), SIDE_MAX) };
}
