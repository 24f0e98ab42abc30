/** Where one may go and who one is: at the side of wide windows, a popover of the browser's own on narrow ones. */
import { useEffect, useRef } from 'preact/hooks';
import { isHelpOpen, isPaletteOpen, PALETTE_KEYS } from '../keys.ts';
import { route } from '../router.ts';
import { addressOf, BASE, GROUPS, OWN_PAGES, placeOf, sectionOf, type PageName } from '../routes.ts';
import { serving } from '../serving.ts';
import type { Me } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { choose, theme, THEMES } from '../theme.ts';
import { leave } from './leaving.ts';

/** Which the button of narrow windows opens. */
export const NAVIGATION_ID = 'navigation';

/** Closes by itself once it led somewhere. */
export function Navigation({ me }: { readonly me: Me }) {
  const menu = useRef<HTMLElement>(null);
  const now = route.value;
  useEffect(() => {
    if (menu.current?.matches(':popover-open') === true) menu.current.hidePopover();
  }, [now]);
  const section = now.page === 'unknown' ? null : sectionOf(now.page);
  return (
    <nav ref={menu} id={NAVIGATION_ID} class="side" popover="auto" aria-label={TEXTS.shell.navigation}>
      <a class="brand" href={BASE}>
        {TEXTS.product}
      </a>
      <PaletteButton />
      <div class="groups">
        {GROUPS.map((group) => (
          <Group
            key={group}
            title={TEXTS.groups[group]}
            pages={OWN_PAGES.filter((name) => placeOf(name).group === group)}
            section={section}
          />
        ))}
      </div>
      <Tools me={me} />
    </nav>
  );
}

interface GroupProps {
  readonly title: string;
  readonly pages: readonly PageName[];
  readonly section: PageName | null;
}

/** A page below one of the navigation marks that one: one is there, if not on it. */
function Group({ title, pages, section }: GroupProps) {
  if (pages.length === 0) return null;
  const current = route.value.page;
  return (
    <>
      <p class="group" aria-hidden>
        {title}
      </p>
      <ul aria-label={title}>
        {pages.map((name) => (
          <li key={name}>
            <a href={addressOf(name)} aria-current={name !== section ? undefined : name === current ? 'page' : 'true'}>
              {TEXTS.pages[name]}
              {placeOf(name).jump !== undefined && <kbd aria-hidden>g {placeOf(name).jump}</kbd>}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Opens the palette, and says by which key it opens too. */
export function PaletteButton() {
  return (
    <button
      type="button"
      class="palette-button"
      aria-keyshortcuts="Control+K Meta+K"
      onClick={() => (isPaletteOpen.value = true)}
    >
      <span>{TEXTS.shell.palette}</span> <kbd aria-hidden>{PALETTE_KEYS}</kbd>
    </button>
  );
}

function Tools({ me }: { readonly me: Me }) {
  const admin = serving.value;
  return (
    <div class="tools">
      {admin !== null && (
        <span class="admin" title={`${admin.name} ${admin.version}`}>
          {admin.name} <span class="soft">{admin.version}</span>
        </span>
      )}
      <ThemeChoice />
      <button type="button" aria-keyshortcuts="?" onClick={() => (isHelpOpen.value = true)}>
        {TEXTS.shell.keys} <kbd aria-hidden>?</kbd>
      </button>
      {me.principal !== 'anonymous' && (
        <button type="button" onClick={() => void leave()}>
          {TEXTS.shell.signOut}
        </button>
      )}
    </div>
  );
}

function ThemeChoice() {
  return (
    <label class="theme">
      <span class="unseen">{TEXTS.shell.theme}</span>
      <select
        value={theme.value}
        onChange={({ currentTarget }) => choose(THEMES.find((one) => one === currentTarget.value) ?? 'system')}
      >
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {TEXTS.shell.themes[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
