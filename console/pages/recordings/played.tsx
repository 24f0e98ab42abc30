/** The player: a screen, and below it what moves it. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Player } from '../../recordings/player.ts';
import { PLACES_MAX, placesOf, withoutIdle, type Tape } from '../../recordings/tape.ts';
import { RECORDINGS as T } from '../../texts/recordings.ts';

/** So many times as fast. */
const SPEEDS = [0.5, 1, 2, 4, 8, 16] as const;

/** Waits beyond this are cut to it where they are skipped, in ms. */
const IDLE_MS_MAX = 2_000;

/** How far an arrow key moves it, in s. */
const ARROW_SECONDS = 5;

/** Stands at the beginning. */
export function Played({ tape }: { readonly tape: Tape }) {
  const place = useRef<HTMLDivElement>(null);
  const [player, setPlayer] = useState<Player | null>(null);
  useEffect(() => {
    if (place.current === null) return undefined;
    const made = new Player(place.current, tape);
    setPlayer(made);
    return () => made.close();
  }, []);
  return (
    <div class="player">
      {player !== null && <Controls player={player} tape={tape} />}
      <div class="scroll" role="region" aria-label={T.screen} tabIndex={0}>
        <div ref={place} />
      </div>
    </div>
  );
}

function Controls({ player, tape }: { readonly player: Player; readonly tape: Tape }) {
  const isShort = useSignal(false);
  const skip = (isWanted: boolean): void => {
    isShort.value = isWanted;
    player.retime(isWanted ? withoutIdle(tape, IDLE_MS_MAX) : tape);
  };
  const seconds = Math.round(player.positionMs.value / 1_000);
  return (
    <div class="player-bar">
      <button type="button" class="primary" onClick={() => (player.isPlaying.value ? player.pause() : player.play())}>
        {player.isPlaying.value ? T.pause : T.play}
      </button>
      <input
        type="range"
        aria-label={T.position}
        aria-valuetext={`${clock(seconds)} / ${clock(player.durationMs / 1_000)}`}
        min={0}
        max={Math.max(1, Math.ceil(player.durationMs / 1_000))}
        step={1}
        value={seconds}
        onInput={({ currentTarget }) => player.seek(currentTarget.valueAsNumber * 1_000)}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowLeft' ? -ARROW_SECONDS : event.key === 'ArrowRight' ? ARROW_SECONDS : 0;
          if (step === 0) return;
          event.preventDefault();
          player.seek(player.positionMs.value + step * 1_000);
        }}
      />
      <span class="soft">
        {clock(seconds)} / {clock(player.durationMs / 1_000)}
      </span>
      <label>
        <span>{T.speed}</span>{' '}
        <select
          value={String(player.speed)}
          onChange={({ currentTarget }) => (player.speed = Number(currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {T.times(speed)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input type="checkbox" checked={isShort.value} onChange={({ currentTarget }) => skip(currentTarget.checked)} />{' '}
        {T.skipIdle}
      </label>
      <Search player={player} tape={tape} position={player.positionMs} />
    </div>
  );
}

interface SearchProps {
  readonly player: Player;
  readonly tape: Tape;
  readonly position: ReadonlySignal<number>;
}

/** Enter leads to the next place, as the button does. */
function Search({ player, tape }: SearchProps) {
  const words = useSignal('');
  const at = useSignal(-1);
  const places = useMemo(() => placesOf(tape, words.value), [tape, words.value]);
  const lead = (step: 1 | -1): void => {
    if (places.length === 0) return;
    at.value = (at.value + step + places.length) % places.length;
    player.pause();
    player.seekEvent(places[at.value] ?? 0);
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        lead(1);
      }}
    >
      <label>
        <span>{T.search}</span>{' '}
        <input
          type="search"
          aria-keyshortcuts="/"
          maxLength={200}
          value={words.value}
          onInput={({ currentTarget }) => {
            words.value = currentTarget.value;
            at.value = -1;
          }}
        />
      </label>
      <span class="soft" role="status">
        {words.value !== '' && T.found(places.length, places.length < PLACES_MAX)}
      </span>
      <button type="button" onClick={() => lead(-1)}>
        {T.previous}
      </button>
      <button type="submit">{T.next}</button>
    </form>
  );
}

/** `1:02:03`, `2:03`. */
function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
