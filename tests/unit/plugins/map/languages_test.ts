import { languageOf } from "../../../../plugins/map/languages.ts";
import { SymbolParser } from "../../../../plugins/map/parser.ts";
import { assertEquals } from "../../../support/assert.ts";

interface Sample {
  readonly file: string;
  readonly text: string;
  /** `kind owner.name` in the order of the text; in parentheses what other files cannot name. */
  readonly definitions: string;
  /** `name:lines`, where a part of the references is enough. */
  readonly references: string;
}

const SAMPLES: readonly Sample[] = [
  {
    file: "a.ts",
    text: `import { Store } from "./store.ts";
export type Id = string;
export enum Color { Red }
export interface Shape { area(): number }
export abstract class Base { abstract draw(to: Shape): void; }
export class Circle extends Base implements Shape {
  constructor(readonly radius: number) { super(); }
  readonly grow = () => new Circle(2);
  area(): number { return square(this.radius); }
  #hidden() {}
  draw() { this.#hidden(); }
}
export const square = (x: number) => x * x, LIMIT = 3;
export const { first, second: other } = Store.parts as Pair;
export function load(id: Id): Promise<Circle[]>;
export function load(id: Id) { const inner = () => id; return [id].map(inner); }
export default function main() { square(LIMIT); }
function secret() {}
namespace Inner { export const x = 1; }
const table = { run: () => secret() };
`,
    definitions:
      "type Id, enum Color, interface Shape, method area, class Base, method draw, class Circle, " +
      "(method constructor), method grow, method area, method #hidden, method draw, function square, " +
      "constant LIMIT, constant first, constant other, function load, function load, (function inner), " +
      "function main, (function secret), (module Inner), (constant x), (constant table), (method run)",
    references:
      "Store:1,14 Id:15,16 Shape:5,6 Base:6 Circle:8,15 square:9,17 .#hidden:11 LIMIT:17 secret:20 inner:16 Pair:14",
  },
  {
    file: "a.tsx",
    text: `import React from "react";
export const Button = ({ label }: Props) => <button onClick={press}>{label}</button>;
export function Page() { return <Layout><Button label="x" /></Layout>; }
`,
    definitions: "function Button, function Page",
    references: "React:1 Props:2 press:2 Layout:3 Button:3",
  },
  {
    file: "a.js",
    text: `const util = require("util");
class Animal extends Base { speak() { return sound(this.name); } static make() {} }
function* ids() { yield 1; }
var old = function () {};
const arrow = async () => { await ids(); };
exports.helper = function () { arrow(); };
Animal.prototype.run = () => <Leg />;
module.exports = { Animal, ids };
`,
    definitions: "constant util, class Animal, method speak, method make, function ids, function old, " +
      "function arrow, function helper, function run",
    references: "Base:2 sound:2 ids:5,8 arrow:6 Animal:7,8 Leg:7",
  },
  {
    file: "a.py",
    text: `from shapes import Shape, area as size
LIMIT: int = 10
names = []
type Pair = tuple[int, int]

@register
class Circle(Shape):
    color = "red"
    def __init__(self, radius: Radius) -> None:
        self.radius = check(radius, LIMIT)
    @property
    def size(self) -> Size:
        def inner(): return self
        return inner
    async def draw(self): await canvas.paint(size)

def make() -> Circle:
    return Circle(1)
`,
    definitions: "constant LIMIT, constant names, type Pair, class Circle, method __init__, method size, " +
      "(function inner), method draw, function make",
    references:
      "Shape:1,7 area:1 register:6 Radius:9 check:10 LIMIT:10 Size:12 paint:15 size:15 Circle:17,18 canvas:15",
  },
  {
    file: "a.go",
    text: `package shapes
import "fmt"
const Limit = 3
const (
	First = iota
	second
)
var Default, other = NewCircle(1), 2
type Shape interface { Area() float64 }
type Circle struct { Radius float64 }
type ID = string
type Kind int
func NewCircle(r float64) *Circle { fmt.Println(Limit); return &Circle{r} }
func (c *Circle) Area() float64 { local := 1; return square(c.Radius) }
func (l *List[T]) Push(x T) {}
func square(x float64) float64 { return use[Kind](x) + First }
`,
    definitions: "constant Limit, constant First, constant second, constant Default, constant other, " +
      "interface Shape, method Area, class Circle, type ID, type Kind, function NewCircle, " +
      "method Circle.Area, method List.Push, function square",
    references: "NewCircle:8 Circle:13,14 Println:13 Limit:13 square:14 Kind:16 First:16",
  },
  {
    file: "a.rs",
    text: `use crate::shapes::{Shape, area};
use std::fmt::Display;
pub const LIMIT: u32 = 3;
static NAME: &str = "x";
pub struct Circle { radius: f64 }
pub enum Color { Red, Green }
pub type Pair = (i32, i32);
pub trait Draw { fn draw(&self); fn twice(&self) { self.draw(); } }
impl Draw for Circle { fn draw(&self) { paint::<Color>(self.radius, LIMIT); } }
impl Circle { pub fn new() -> Self { Circle { radius: area(1.0) } } }
mod inner { pub fn helper() -> Color { super::Circle::new(); Color::Red } }
macro_rules! square { ($x:expr) => { $x * $x }; }
fn main() { square!(2); inner::helper(); }
union Bits { a: u32 }
`,
    definitions: "constant LIMIT, constant NAME, class Circle, enum Color, type Pair, interface Draw, " +
      "method draw, method twice, method Circle.draw, method Circle.new, module inner, function helper, macro square, " +
      "function main, class Bits",
    references:
      "Shape:1 area:1,10 Display:2 draw:8 Draw:9 Circle:9,10,11 Color:9,11 LIMIT:9 paint:9 new:11 helper:13 square:13",
  },
  {
    file: "A.java",
    text: `package shapes;
import java.util.List;
@Entity
public class Circle extends Base implements Shape {
  public static final int LIMIT = 3;
  private final double radius;
  public Circle(double radius) { this.radius = Check.positive(radius); }
  public double area() { return square(radius) + LIMIT; }
  enum Color { RED }
  List<Pair> all() { return items.map(Pair::new).sort(Circle::compare); }
}
interface Shape { double area(); int MAX = 1; }
record Pair(int a, int b) {}
@interface Entity {}
class Use { Circle c = new Circle(1); }
`,
    definitions: "class Circle, constant LIMIT, method Circle, method area, enum Color, method all, " +
      "interface Shape, method area, constant MAX, class Pair, interface Entity, class Use",
    references:
      "Entity:3 Base:4 Shape:4 Check:7 positive:7 square:8 Pair:10 compare:10 Circle:10,15 List:10 LIMIT:8",
  },
  {
    file: "a.c",
    text: `#include <stdio.h>
#define LIMIT 3
#define SQUARE(x) ((x) * (x))
typedef struct point { int x; } Point;
struct node { struct node *next; };
enum color { RED, GREEN };
union bits { int i; float f; };
static int counter = 0;
struct node *make(enum color c);
int main(void) { Point p; struct node n; run(make(RED), &counter); return SQUARE(LIMIT); }
static Point *find(union bits b) { return table->look(b); }
`,
    definitions: "constant LIMIT, macro SQUARE, class point, type Point, class node, enum color, " +
      "constant RED, constant GREEN, class bits, constant counter, function make, function main, function find",
    references:
      "color:9 Point:10,11 node:5,9,10 run:10 make:10 RED:10 counter:10 SQUARE:10 LIMIT:10 bits:11 look:11",
  },
  {
    file: "a.h",
    text: `#pragma once
namespace geo {
class Shape { public: virtual double area() const = 0; };
}
`,
    definitions: "module geo, class Shape, method area",
    references: "",
  },
  {
    file: "a.cpp",
    text: `#include "shape.h"
namespace geo {
using Number = double;
enum class Color { Red };
class Later;
template <typename T> class Box : public Shape {
 public:
  explicit Box(T value);
  ~Box();
  T get() const { return check(value_); }
};
template <typename T> T twice(T x) { return x + x; }
const int LIMIT = 3;
}
double geo::Circle::area() const { return geo::square(radius) * LIMIT; }
int main() { geo::Box<Later> b(1); b.get(); return twice<int>(LIMIT) + call(geo::Color::Red); }
`,
    definitions: "module geo, type Number, enum Color, constant Red, class Box, method Box, method ~Box, " +
      "method get, function twice, constant LIMIT, method Circle.area, function main",
    references: "Later:5,16 Shape:6 check:10 square:15 LIMIT:15,16 get:16 twice:16 Box:16 call:16",
  },
  {
    file: "A.cs",
    text: `using System;
namespace Shapes;
public delegate void Done(int code);
public interface IShape { double Area(); }
public enum Color { Red }
public record Pair(int A, int B);
public struct Size { public int Width { get; set; } }
[Serializable]
public class Circle : Base, IShape {
  public const int Limit = 3;
  private readonly Size size = new Size();
  public Circle(Color color) { Check(color); }
  public Color Color { get; set; }
  public double Area() { return Helper.Square(Limit) + this.Get<Pair>(); }
  public Pair? Make(Done done) { int Inner() => 1; return null; }
}
`,
    definitions:
      "module Shapes, type Done, interface IShape, method Area, enum Color, class Pair, class Size, " +
      "field Width, class Circle, constant Limit, method Circle, field Color, method Area, method Make, " +
      "(function Inner)",
    references:
      "Serializable:8 Base:9 IShape:9 Size:11 Color:12,13 Check:12 Helper:14 Square:14 Limit:14 Get:14 Pair:14,15 Done:15",
  },
  {
    file: "a.rb",
    text: `require "set"
module Geo
  LIMIT = 3
  class Circle < Base
    attr_reader :radius
    def initialize(radius)
      @radius = check(radius)
    end
    def self.make = new(LIMIT)
    def area; square(radius); end
    alias size area
  end
  class Geo::Box; end
end
Geo::Circle.make.area
`,
    definitions: "module Geo, constant LIMIT, class Circle, method initialize, method make, method area, " +
      "method size, class Box",
    references: "Base:4 check:7 LIMIT:9 square:10 make:15 area:11,15 Circle:15 Geo:13,15",
  },
  {
    file: "a.php",
    text: `<?php
namespace App\\Shapes;
use App\\Base;
const LIMIT = 3;
interface Shape { public function area(): float; }
trait Named { public string $name = ""; }
enum Color { case Red; }
class Circle extends Base implements Shape {
  use Named;
  const MAX = 1;
  public function __construct(private Color $color) { check($color, LIMIT); }
  public function area(): float { return Helper::square($this->radius()); }
}
function make(Color $c): Circle { return new Circle(Color::Red); }
$x?->draw();
`,
    definitions:
      "module App\\Shapes, constant LIMIT, interface Shape, method area, interface Named, field name, " +
      "enum Color, constant Red, class Circle, constant MAX, method __construct, method area, function make",
    references:
      "Base:3,8 Shape:8 Named:9 Color:11,14 check:11 Helper:12 square:12 radius:12 Circle:14 draw:15",
  },
  {
    file: "a.sh",
    text: `#!/bin/bash
LIMIT=3
readonly NAME=x
helper() { local inner=1; echo "$LIMIT" "\${NAME}"; }
function run { helper "$@" | grep x; }
run
`,
    definitions: "constant LIMIT, constant NAME, function helper, function run",
    references: "echo:4 LIMIT:4 NAME:4 helper:5 grep:5 run:6",
  },
];

const parser = new SymbolParser(new URL("../../../../plugins/main.ts", import.meta.url).href);

for (const { file, text, definitions, references } of SAMPLES) {
  Deno.test(`SymbolParser finds definitions and references of ${file}`, async () => {
    const language = languageOf(file);
    if (!language) throw new Error(`${file} has no language`);
    const symbols = await parser.parse(language, text);
    const shown = symbols.definitions.map(({ kind, name, owner, local }) => {
      const symbol = `${kind} ${owner === undefined ? name : `${owner}.${name}`}`;
      return local ? `(${symbol})` : symbol;
    });
    assertEquals(shown.join(", "), definitions);
    const found = symbols.references.map(([name, lines]) => `${name}:${lines.join(",")}`);
    const missing = references.split(" ").filter((each) => each !== "" && !found.includes(each));
    assertEquals(missing, [], found.join(" "));
    assertEquals(symbols.broken, false);
  });
}
