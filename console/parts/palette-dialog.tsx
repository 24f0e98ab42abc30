/** The palette: one field above what is found, of which one is chosen (combobox with a list, ARIA 1.2). */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Fleet } from '../fleet/feed.ts';
import { isPaletteOpen } from '../keys.ts';
import type { Live } from '../live.ts';
import { askedItems, PaletteSearch } from '../palette-asked.ts';
import { findWithActions, KINDS, SOUGHT_CHARACTERS_MAX, type Item } from '../palette.ts';
import { go } from '../router.ts';
import type { Me } from '../session.ts';
import { PALETTE } from '../texts/palette.ts';
import { nodeActions, nodeItems, ownItems } from './palette-items.ts';

/** What it looks through. */
export interface PaletteProps {
  readonly me: Me;
  readonly live: Live;
  readonly fleet: Fleet;
}

const LIST_ID = 'palette-list';

/** Open as long as it is there. */
export function PaletteDialog({ me, live, fleet }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const sought = useSignal('');
  const asked = useSignal<readonly Item[]>([]);
  const search = useMemo(
    () =>
      new PaletteSearch(
        (words) => askedItems(live.api, words, Date.now()),
        (items) => (asked.value = items),
      ),
    [live],
  );
  useEffect(() => {
    dialog.current?.showModal();
    fleet.followAny();
    search.want('', 0);
    return () => search.stop();
  }, []);
  const version = fleet.version.value;
  const found = useMemo(
    () => findWithActions(() => all(me, asked.value, fleet), sought.value, nodeActions),
    [me, fleet, version, asked.value, sought.value],
  );
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={PALETTE.title}
      onClose={() => (isPaletteOpen.value = false)}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <Combobox
        found={found}
        sought={sought.value}
        onSought={(text) => {
          sought.value = text;
          search.want(text);
        }}
        onChosen={({ leads }) => {
          // closed first: what it leads to may want the focus
          dialog.current?.close();
          if ('to' in leads) go(leads.to);
          else leads.does();
        }}
      />
    </dialog>
  );
}

function* all(me: Me, asked: readonly Item[], fleet: Fleet): Generator<Item> {
  yield* ownItems(me);
  yield* asked;
  yield* nodeItems(fleet.rows.values());
}

interface ComboboxProps {
  readonly found: readonly Item[];
  readonly sought: string;
  readonly onSought: (text: string) => void;
  readonly onChosen: (item: Item) => void;
}

/** The chosen one stays chosen while others come and go; else it is the first. */
function Combobox({ found, sought, onSought, onChosen }: ComboboxProps) {
  const chosenId = useSignal<string | null>(null);
  const at = Math.max(
    0,
    found.findIndex(({ id }) => id === chosenId.value),
  );
  const chosen = found[at];
  useEffect(() => {
    if (chosen !== undefined) document.getElementById(chosen.id)?.scrollIntoView({ block: 'nearest' });
  }, [chosen?.id]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (event.isComposing || (step === undefined && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step === undefined) {
      if (chosen !== undefined) onChosen(chosen);
    } else chosenId.value = found.at((at + step) % Math.max(1, found.length))?.id ?? null;
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        autofocus
        autocomplete="off"
        spellcheck={false}
        maxLength={SOUGHT_CHARACTERS_MAX}
        aria-label={PALETTE.title}
        aria-expanded="true"
        aria-controls={LIST_ID}
        aria-autocomplete="list"
        aria-activedescendant={chosen?.id}
        placeholder={PALETTE.hint}
        value={sought}
        onInput={({ currentTarget }) => {
          chosenId.value = null;
          onSought(currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={LIST_ID} role="listbox" aria-label={PALETTE.title} tabIndex={-1}>
        {kindsOf(found).map((kind) => (
          <div key={kind} role="group" aria-label={PALETTE.kinds[kind]}>
            <p aria-hidden>{PALETTE.kinds[kind]}</p>
            {found
              .filter((item) => item.kind === kind)
              .map((item) => (
                <Option key={item.id} item={item} isChosen={item === chosen} onChosen={onChosen} />
              ))}
          </div>
        ))}
      </div>
      <p class="foot">
        <span role="status">{PALETTE.found(found.length)}</span> <span>{PALETTE.foot}</span>
      </p>
    </>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** In the order in which they were found. */
function kindsOf(found: readonly Item[]): readonly (typeof KINDS)[number][] {
  return [...new Set(found.map(({ kind }) => kind))];
}

interface OptionProps {
  readonly item: Item;
  readonly isChosen: boolean;
  readonly onChosen: (item: Item) => void;
}

function Option({ item, isChosen, onChosen }: OptionProps) {
  return (
    <div
      id={item.id}
      role="option"
      aria-selected={isChosen}
      onPointerDown={(event) => event.preventDefault()}
      onClick={() => onChosen(item)}
    >
      <bdi>{item.text}</bdi>
      {item.more !== undefined && (
        <small>
          <bdi>{item.more}</bdi>
        </small>
      )}
    </div>
  );
}
