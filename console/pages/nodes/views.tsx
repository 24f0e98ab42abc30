/** Lists that somebody gave a name: kept in this browser, and addresses like any other. */
import { signal, useSignal } from '@preact/signals';
import { nodesAddress, queryOf, searchOf, type NodesQuery } from '../../fleet/query.ts';
import { VIEW_NAME_CHARACTERS_MAX, VIEWS_MAX, viewsIn, withView, type View } from '../../fleet/views.ts';
import { keep, readKept } from '../../kept.ts';
import { Menu } from '../../parts/menu.tsx';
import { notify, soon } from '../../parts/notice.tsx';
import { TEXTS } from '../../texts.ts';

const T = TEXTS.nodes;

const KEPT_AS = 'edge-console-node-views';

const views = signal<readonly View[]>(viewsIn(readKept(KEPT_AS)));

function store(next: readonly View[]): void {
  views.value = next;
  keep(KEPT_AS, next);
}

/** It may be kept anew under its name meanwhile, which stays. */
function forget(view: View): void {
  store(views.value.filter((one) => one !== view));
}

/** All of them, and a field that keeps the present list as one. */
export function ViewsMenu({ query }: { readonly query: NodesQuery }) {
  const search = searchOf(query);
  const present = views.value.find((view) => view.search === search);
  return (
    <Menu title={present === undefined ? T.views : <bdi>{present.name}</bdi>} label={T.views}>
      {(close) => (
        <>
          {views.value.length === 0 && <p class="soft">{T.noViews}</p>}
          <ul class="choice-list">
            {views.value.map((view) => (
              <li key={view.name}>
                <a href={nodesAddress(queryOf(view.search))} onClick={close}>
                  <bdi>{view.name}</bdi>
                </a>
                <button
                  type="button"
                  class="icon"
                  aria-label={T.forgetView(view.name)}
                  onClick={() => soon(T.forgetView(view.name), () => forget(view))}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
          <SaveForm search={search} close={close} />
        </>
      )}
    </Menu>
  );
}

function SaveForm({ search, close }: { readonly search: string; readonly close: () => void }) {
  const name = useSignal('');
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        const view = { name: name.value.trim(), search };
        if (view.name === '') return;
        const next = withView(views.value, view);
        if (next === null) return notify({ kind: 'failed', text: T.tooManyViews(VIEWS_MAX) });
        store(next);
        close();
        notify({ text: T.viewKept(view.name) });
      }}
    >
      <label>
        <span>{T.viewName}</span>
        <input
          value={name.value}
          maxLength={VIEW_NAME_CHARACTERS_MAX}
          autocomplete="off"
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <button class="primary" disabled={name.value.trim() === ''}>
        {T.keepView}
      </button>
    </form>
  );
}
