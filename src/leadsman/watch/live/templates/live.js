"use strict";

const main = document.getElementById("content");
const connection = document.getElementById("connection");
const announcement = document.getElementById("announcement");

// A part of the page that did not change stays the same element: what is unfolded, selected or focused in it stays so.
const reuse = (fresh) => {
  const added = [];
  for (const part of fresh.querySelectorAll("[data-digest]")) {
    const old = document.getElementById(part.id);
    if (!old) added.push(part);
    else if (old.dataset.digest === part.dataset.digest) part.replaceWith(old);
    else for (const open of old.querySelectorAll("details[open][id]")) {
      const same = part.querySelector(`#${CSS.escape(open.id)}`);
      if (same) same.open = true;
    }
  }
  return added;
};

const firstVisible = () => [...main.querySelectorAll("[data-digest]")].find((part) => part.getBoundingClientRect().bottom > 0);

const show = (html) => {
  const fresh = new DOMParser().parseFromString(`<div id="root">${html}</div>`, "text/html").getElementById("root");
  const anchor = firstVisible();
  const before = anchor?.getBoundingClientRect().top;
  const focused = document.activeElement?.id;
  const added = reuse(fresh);
  main.replaceChildren(...fresh.childNodes);
  const moved = anchor && scrollY > 0 && document.getElementById(anchor.id);
  if (moved) scrollBy({ top: moved.getBoundingClientRect().top - before, behavior: "instant" });
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  for (const part of added) part.classList.add("fresh");
  for (const button of main.querySelectorAll("button[data-copy]")) button.hidden = false;
  const titles = added.map((part) => part.querySelector("h3")?.textContent).filter(Boolean);
  if (titles.length) announcement.textContent = `New: ${titles.join(". ")}`;
  const open = main.querySelector("#open-heading .count")?.textContent ?? "0";
  document.title = open === "0" ? "leadsman watch" : `(${open}) leadsman watch`;
};

const connected = (is) => {
  connection.textContent = is ? "Live" : "Connection lost: this is how it was. Trying again.";
  connection.classList.toggle("lost", !is);
};

let asked = false;
let again = false;
const refresh = async () => {
  if (asked) {
    again = true;
    return;
  }
  asked = true;
  try {
    const answer = await fetch("/content", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    show(await answer.text());
    connected(true);
  } catch {
    connected(false);
  }
  asked = false;
  if (again) {
    again = false;
    refresh();
  }
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const block = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(block);
    button.textContent = "Selected: copy it now";
  }
});

for (const button of main.querySelectorAll("button[data-copy]")) button.hidden = false;
const events = new EventSource("/events");
events.addEventListener("message", refresh);
events.addEventListener("open", () => connected(true));
events.addEventListener("error", () => connected(false));
